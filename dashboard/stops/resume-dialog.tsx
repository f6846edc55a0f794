import { useState } from 'preact/hooks';
import type { StopEntry } from '../../core/shapes/agent-stop.ts';
import { Loaded } from '../agent/loaded.tsx';
import { remove } from '../api/client.ts';
import { useResource } from '../api/resource.ts';
import { announce } from '../parts/announce.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Failure } from '../parts/failure.tsx';
import { useSending } from '../parts/use-sending.ts';
import { may } from '../permissions.ts';
import { me } from '../session.ts';
import { agentStopOf, scopeOf } from './stop-text.ts';

export const STOPS_PATH = '/api/v1/stops';

export interface ResumeButtonProps {
  id: string;
  onResumed(): void;
}

/** Ends a stop, after it said for which agents. Nothing without the right. */
export function ResumeButton({ id, onResumed }: ResumeButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const agentStop = agentStopOf(id);
  if (agentStop === null || !may(me.value, 'resume', agentStop.namespace)) return null;
  return (
    <>
      <Button label={`Resume: end the stop ${id}`} onClick={() => setOpen(true)}>
        Resume
      </Button>
      <Dialog title="Resume" open={isOpen} onClose={() => setOpen(false)}>
        <Confirm {...agentStop} onClose={() => setOpen(false)} onResumed={onResumed} />
      </Dialog>
    </>
  );
}

interface ConfirmProps extends Omit<ResumeButtonProps, 'id'> {
  namespace: string;
  name: string;
  onClose(): void;
}

function Confirm({ namespace, name, onClose, onResumed }: ConfirmProps) {
  const stops = useResource<StopEntry[]>(STOPS_PATH);
  const { error, isSending, send } = useSending(async () => {
    await remove(`${STOPS_PATH}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`);
    announce('Stop ended');
    onClose();
    onResumed();
  });
  return (
    <>
      <Loaded resource={stops} what="stops">
        {(all) => <Scope stop={all.find((each) => each.namespace === namespace && each.name === name)} />}
      </Loaded>
      {error !== null && <Failure error={error} retry={send} namespace={namespace} />}
      <p class="form-actions wrap">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" isDisabled={isSending} onClick={send}>
          {isSending ? 'Resuming…' : 'End the stop'}
        </Button>
      </p>
    </>
  );
}

function Scope({ stop }: { stop: StopEntry | undefined }) {
  if (stop === undefined) return <p>This stop has ended, or you may not see it.</p>;
  return (
    <>
      <p>
        The stop ends for <strong>{scopeOf(stop)}</strong>. Agents that another stop applies to stay stopped.
      </p>
      <p>Reason of the stop: {stop.reason}</p>
    </>
  );
}
