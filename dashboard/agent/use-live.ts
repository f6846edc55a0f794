import { useEffect, useRef } from 'preact/hooks';
import { followStream } from '../api/live.ts';
import type { Resource } from '../api/resource.ts';
import { announce } from '../parts/announce.ts';
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

/** Reloads a resource when `version` changes. The resource itself loads the first one. */
export function useReloadOn({ reload }: Pick<Resource<unknown>, 'reload'>, version: unknown): void {
  const known = useRef(version);
  useEffect(() => {
    if (known.current === version) return;
    known.current = version;
    reload();
  }, [version]);
}

/** Reads a text to screen readers when it changes. null: not known yet. */
export function useAnnounced(text: string | null): void {
  const known = useRef<string | null>(null);
  useEffect(() => {
    if (known.current !== null && text !== null) announce(text);
    known.current = text ?? known.current;
  }, [text]);
}
