import { useEffect, useRef } from 'preact/hooks';
import { followStream } from '../api/live.ts';
import type { AgentName } from './agent-path.ts';
import { isAbout } from './is-about.ts';

/** Calls `onChange` when the event stream reports a change of the agent. */
export function useAgentChanges({ namespace, name }: AgentName, onChange: () => void): void {
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(
    () =>
      followStream('/api/v1/stream', {
        onState: () => undefined,
        onEvent: (event, data) => {
          if (event === 'agents' && isAbout(data, { namespace, name })) latest.current();
        },
      }),
    [namespace, name],
  );
}
