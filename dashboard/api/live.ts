import { backoffMs } from './backoff.ts';
import { getStream } from './client.ts';
import { onReachable, reachable } from './reachable.ts';

export type LiveState = 'connecting' | 'live' | 'reconnecting' | 'offline';

export interface StreamHandlers {
  onEvent(name: string, data: string): void;
  onState(state: LiveState): void;
}

/** The server sends a comment every 15 s. */
const SILENCE_MS = 45_000;
/** A tab that is hidden for this time is disconnected, so that it costs the server nothing. */
const HIDDEN_MS = 60_000;
/** A longer event ends the connection. */
const MAX_EVENT_LENGTH = 2 ** 26;

/**
 * Follows the event stream of the server until the returned function is called, and connects again with backoff and jitter. After
 * each event `ready` the state is `live`; events from before it may be missing, so the handler must load the full state.
 */
export function followStream(path: string, handlers: StreamHandlers): () => void {
  const stopped = new AbortController();
  void follow(path, handlers, stopped.signal);
  return () => stopped.abort();
}

async function follow(path: string, handlers: StreamHandlers, stopped: AbortSignal): Promise<void> {
  let failures = 0;
  handlers.onState('connecting');
  while (!stopped.aborted) {
    await untilVisible(stopped);
    const wasLive = await read(path, handlers, stopped);
    if (stopped.aborted) return;
    failures = wasLive ? 1 : failures + 1;
    handlers.onState(reachable.value ? 'reconnecting' : 'offline');
    await pause(backoffMs(failures, Math.random()), stopped);
  }
}

/** Reads one connection to its end. Returns whether it was live. */
async function read(path: string, handlers: StreamHandlers, stopped: AbortSignal): Promise<boolean> {
  const given = new AbortController();
  const watch = watchConnection(() => given.abort());
  let wasLive = false;
  let rest = '';
  try {
    const body = await getStream(path, AbortSignal.any([stopped, given.signal]));
    const reader = body.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return wasLive;
      watch.received();
      const parts = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = parts.pop() ?? '';
      if (rest.length > MAX_EVENT_LENGTH) return wasLive;
      for (const part of parts) {
        const [event, data] = [fieldOf(part, 'event'), fieldOf(part, 'data')];
        if (event === undefined || data === undefined) continue;
        if (event === 'ready') {
          wasLive = true;
          handlers.onState('live');
        }
        handlers.onEvent(event, data);
      }
    }
  } catch {
    // A connection ends with an error in many ways; each of them leads to the next attempt.
    return wasLive;
  } finally {
    watch.end();
    given.abort();
  }
}

/** A field of one event of our own server, whose fields are one line each (runtime/event-stream.ts). */
const fieldOf = (part: string, name: 'event' | 'data'): string | undefined =>
  part
    .split('\n')
    .find((line) => line.startsWith(`${name}: `))
    ?.slice(name.length + 2);

/** Calls `giveUp` when nothing arrives for too long, or when the page is hidden for too long. */
function watchConnection(giveUp: () => void): { received(): void; end(): void } {
  let silence = setTimeout(giveUp, SILENCE_MS);
  let hidden: ReturnType<typeof setTimeout> | undefined;
  const whenChanged = (): void => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(giveUp, HIDDEN_MS);
  };
  document.addEventListener('visibilitychange', whenChanged);
  whenChanged();
  return {
    received() {
      clearTimeout(silence);
      silence = setTimeout(giveUp, SILENCE_MS);
    },
    end() {
      clearTimeout(silence);
      clearTimeout(hidden);
      document.removeEventListener('visibilitychange', whenChanged);
    },
  };
}

function untilVisible(stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (document.hidden && !stopped.aborted) return;
      document.removeEventListener('visibilitychange', check);
      stopped.removeEventListener('abort', check);
      resolve();
    };
    document.addEventListener('visibilitychange', check);
    stopped.addEventListener('abort', check);
    check();
  });
}

/** Ends early when the server becomes reachable again. */
function pause(ms: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      unsubscribe();
      stopped.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    const unsubscribe = onReachable(end);
    stopped.addEventListener('abort', end);
  });
}
