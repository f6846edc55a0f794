import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, remove } from '../api/client.ts';
import { announce } from '../parts/announce.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Failure } from '../parts/failure.tsx';
import { navigate } from '../route.ts';
import { agentPath, type AgentName } from './agent-path.ts';
import { TextField } from './text-field.tsx';

/** Deletes a registered agent, after its name was entered. */
export function DeleteAgent(agent: AgentName): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button kind="danger" onClick={() => setOpen(true)}>
        Delete agent
      </Button>
      <Dialog title={`Delete agent ${agent.name}`} open={isOpen} onClose={() => setOpen(false)}>
        <ConfirmDeletion agent={agent} onCancel={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function ConfirmDeletion({ agent, onCancel }: { agent: AgentName; onCancel(): void }): JSX.Element {
  const [entered, setEntered] = useState('');
  const [isWrong, setWrong] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [isSending, setSending] = useState(false);
  const confirm = async (): Promise<void> => {
    setWrong(entered !== agent.name);
    if (entered !== agent.name) return;
    setSending(true);
    try {
      await remove(agentPath(agent));
      announce(`Agent ${agent.name} deleted`);
      navigate('#/');
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      setError(failure);
      setSending(false);
    }
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void confirm();
      }}
    >
      <p>
        All keys of the agent are revoked, and its data and history are deleted. The agent must be registered
        again to report.
      </p>
      <TextField
        label="Name of the agent"
        value={entered}
        error={isWrong ? `must be ${agent.name}` : null}
        onInput={setEntered}
      />
      {error !== null && <Failure error={error} retry={() => void confirm()} />}
      <p class="form-actions">
        <Button onClick={onCancel}>Cancel</Button>
        <Button kind="danger" type="submit" isDisabled={isSending}>
          {isSending ? 'Deleting…' : 'Delete agent and data'}
        </Button>
      </p>
    </form>
  );
}
