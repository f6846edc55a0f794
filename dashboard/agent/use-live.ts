import { keyOf } from '../api/agent-item.ts';
import { useEffect, useRef } from 'preact/hooks';
import { followStream } from '../api/live.ts';
import type { AgentName } from '../../core/shapes/rule-state.ts';
import { isAbout } from './is-about.ts';

/** Calls `onChange` when the event stream reports a change of the agent. */
export function useAgentChanges(agent: AgentName, onChange: () => void): void {
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(
    () =>
      followStream('/api/v1/stream', {
        onState: () => undefined,
        onEvent: (event, data) => {
          if (event === 'agents' && isAbout(data, agent)) latest.current();
        },
      }),
    [keyOf(agent)],
  );
}
