import { useEffect, useRef } from 'preact/hooks';
import type { AgentDetail } from '../../core/shapes/agent-detail.ts';
import type { StopEntry } from '../../core/shapes/agent-stop.ts';
import { formatTime, withLocalTimes } from '../format.ts';
import { Ago } from '../parts/ago.tsx';
import { may } from '../permissions.ts';
import { me } from '../session.ts';
import { ResumeButton } from './resume-dialog.tsx';
import { StopButton } from './stop-dialog.tsx';
import { ANNOTATION_STOP, stateOf } from './stop-text.ts';

/** A stop or a resume that the reader requested, and that the status of the agent does not show yet. */
export type PendingStop = StopEntry | 'resume' | null;

export interface StopAgentProps {
  detail: AgentDetail;
  onStopped(stop: StopEntry): void;
}

/** The button that stops an agent. Nothing for a stopped agent, or without the right. */
export function StopAgent({ detail, onStopped }: StopAgentProps) {
  const { namespace, agentName, status } = detail;
  if (status.stop !== undefined || !may(me.value, 'stop', namespace)) return null;
  return (
    <StopButton title={`Stop ${agentName}`} target={{ namespace, agents: [agentName] }} onStopped={onStopped}>
      Stop…
    </StopButton>
  );
}

export interface StopBannerProps {
  detail: AgentDetail;
  pending: PendingStop;
  onResumed(): void;
}

/** The stop of an agent: how far it got, who stopped it, why and until when. */
export function StopBanner({ detail: { namespace, status }, pending, onResumed }: StopBannerProps) {
  const element = useRef<HTMLElement>(null);
  // The button with the focus is gone.
  useEffect(() => {
    if (pending !== null) element.current?.focus();
  }, [pending]);
  const requested = pending === 'resume' ? null : pending;
  const stop = status.stop ?? requested;
  if (stop === null) return null;
  const condition = status.conditions?.find(({ type }) => type === 'Stopped');
  const title = pending === 'resume' ? 'Resuming' : (stateOf(status) ?? 'Stopping (requested)');
  return (
    <section ref={element} class="stop-banner wrap" aria-label="Stop of the agent" tabIndex={-1}>
      <div>
        <p>
          <strong>{title}</strong>
          {stop.by !== undefined && ` by ${stop.by}`} <Ago time={stop.since} />,{' '}
          {stop.until === undefined ? 'without an end' : `until ${formatTime(stop.until)}`}: {stop.reason}
        </p>
        {pending !== 'resume' && condition?.reason === 'IngressOnly' && (
          <p class="sentence">{withLocalTimes(condition.message)}.</p>
        )}
        {status.stop === undefined && requested?.stored === false && (
          <p>The stop applies, but it is not stored yet, because the API server is unavailable.</p>
        )}
        {stop.id === ANNOTATION_STOP && (
          <p>
            To resume, remove the annotation from the pods:{' '}
            <code>{`kubectl annotate pods -n ${namespace} POD platform.io/stop-`}</code>
          </p>
        )}
      </div>
      {pending !== 'resume' && <ResumeButton id={stop.id} onResumed={onResumed} />}
    </section>
  );
}
