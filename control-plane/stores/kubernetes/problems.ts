import { isMirrored } from '../../../core/observation/mirrored.ts';
import type { AgentObservation } from '../../../core/observation/observation.ts';
import { Problem } from '../../../runtime/problem.ts';
import type { AgentKey } from '../store.ts';

/** The cluster cannot be asked, or does not take a write; the sender comes again. */
export function unavailable(detail: string): Problem {
  return new Problem(503, detail, { headers: { 'retry-after': '2' } });
}

/** Nothing that is answered waits for longer than a crash may lose, so the sender keeps the rest for a moment. */
export function behind(): Problem {
  return new Problem(503, 'the cluster does not keep up with the heartbeats; try again', {
    headers: { 'retry-after': '10' },
  });
}

/** What the agent does is told to its own control plane, from which the operator copies. */
export function refuseMirrored(object: AgentObservation): void {
  if (!isMirrored(object)) return;
  throw new Problem(409, `${object.metadata.name} is mirrored from another control plane; ask that one`);
}

/** The agent went while it was asked for. */
export function gone({ name }: AgentKey): Problem {
  return unavailable(`${name} was removed at this moment; try again`);
}
