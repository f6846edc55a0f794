import { useState } from 'preact/hooks';
import { remove } from '../api/client.ts';
import { announce } from '../parts/announce.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Failure } from '../parts/failure.tsx';
import { useSending } from '../parts/use-sending.ts';
import { navigate } from '../route.ts';
import type { AgentName } from '../../core/shapes/rule-state.ts';
import { agentPath } from './agent-path.ts';
import { TextField } from './text-field.tsx';

/** Deletes a registered agent, after its name was entered. */
export function DeleteAgent(agent: AgentName) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button kind="danger" onClick={() => setOpen(true)}>
        Delete agent
      </Button>
      <Dialog title={`Delete agent ${agent.agentName}`} open={isOpen} onClose={() => setOpen(false)}>
        <ConfirmDeletion agent={agent} onCancel={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function ConfirmDeletion({ agent, onCancel }: { agent: AgentName; onCancel(): void }) {
  const [entered, setEntered] = useState('');
  const [isWrong, setWrong] = useState(false);
  const { error, isSending, send } = useSending(async () => {
    await remove(agentPath(agent));
    announce(`Agent ${agent.agentName} deleted`);
    navigate('#/');
  });
  const confirm = (): void => {
    setWrong(entered !== agent.agentName);
    if (entered === agent.agentName) send();
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        confirm();
      }}
    >
      <p>
        All keys of the agent are revoked, and its data and history are deleted. The agent must be registered
        again to report.
      </p>
      <TextField
        label="Name of the agent"
        value={entered}
        error={isWrong ? `must be ${agent.agentName}` : null}
        onInput={setEntered}
      />
      {error !== null && <Failure error={error} retry={confirm} namespace={agent.namespace} />}
      <p class="form-actions wrap">
        <Button onClick={onCancel}>Cancel</Button>
        <Button kind="danger" type="submit" isDisabled={isSending}>
          {isSending ? 'Deleting…' : 'Delete agent and data'}
        </Button>
      </p>
    </form>
  );
}
