import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get } from './client.ts';
import { onReachable } from './reachable.ts';

export interface Resource<T> {
  data: T | null;
  error: ApiError | null;
  reload: () => void;
}

interface State<T> {
  /** The path that `data` is from. */
  path: string | null;
  data: T | null;
  error: ApiError | null;
}

/** How JSON is requested. */
type Read<T> = (path: string, signal: AbortSignal) => Promise<T>;

const withoutQuery = (path: string | null): string | undefined => path?.split('?')[0];

/**
 * Reads JSON while the component is mounted: now, when the path changes, every `refreshMs` while the page is visible, and when the
 * server is reachable again. Another query keeps the old data until the new ones are there; another path does not. null: nothing.
 */
export function useResource<T>(
  path: string | null,
  { refreshMs, read = get }: { refreshMs?: number; read?: Read<T> } = {},
): Resource<T> {
  const [state, setState] = useState<State<T>>({ path: null, data: null, error: null });
  const load = useRef<() => void>(() => undefined);
  useEffect(() => {
    if (path === null) return undefined;
    const [reload, stop] = repeat<T>({ path, refreshMs, read }, (change) => {
      setState((old) => {
        const isSame = withoutQuery(old.path) === withoutQuery(path);
        return { ...old, ...(!isSame && { path, data: null, error: null }), ...change };
      });
    });
    load.current = reload;
    return stop;
  }, [path, refreshMs]);
  const isSame = withoutQuery(state.path) === withoutQuery(path);
  const { data, error } = isSame ? state : { data: null, error: null };
  return { data, error, reload: () => load.current() };
}

/** Requests `path` again and again. Returns a function that requests it now, and one that ends it. */
function repeat<T>(
  { path, refreshMs, read }: { path: string; refreshMs: number | undefined; read: Read<T> },
  change: (part: Partial<State<T>>) => void,
): [reload: () => void, stop: () => void] {
  const stopped = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isRunning = false;
  let isMissed = false;
  const run = async (): Promise<void> => {
    if (isRunning) return;
    clearTimeout(timer);
    [isRunning, isMissed] = [true, false];
    const result = await resultOf(path, read, stopped.signal);
    if (stopped.signal.aborted) return;
    isRunning = false;
    change(result);
    if (refreshMs !== undefined) timer = setTimeout(refresh, refreshMs);
  };
  const start = (): void => void run();
  const refresh = (): void => {
    isMissed = document.hidden;
    if (!isMissed) start();
  };
  const whenVisible = (): void => {
    if (isMissed) refresh();
  };
  document.addEventListener('visibilitychange', whenVisible);
  const unsubscribe = onReachable(start);
  start();
  const stop = (): void => {
    stopped.abort();
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', whenVisible);
    unsubscribe();
  };
  return [start, stop];
}

/** What a request changes. An error keeps the data. */
async function resultOf<T>(path: string, read: Read<T>, signal: AbortSignal): Promise<Partial<State<T>>> {
  try {
    return { path, data: await read(path, signal), error: null };
  } catch (error) {
    if (error instanceof ApiError) return { error };
    if (signal.aborted) return {};
    throw error;
  }
}
