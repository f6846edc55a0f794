import { signal, type ReadonlySignal } from '@preact/signals';
import { backoffMs } from './backoff.ts';

const RECHECK_MS = 3_000;

const state = signal(true);
let timer: ReturnType<typeof setTimeout> | undefined;
let recheck: ReturnType<typeof setTimeout> | undefined;
let failures = 0;

/** Whether the server responded to the last request. Every page keeps its data while it does not. */
export const reachable: ReadonlySignal<boolean> = state;

/** Every request reports here whether there was a response, with any status. */
export function reportReachable(isReachable: boolean): void {
  clearTimeout(timer);
  failures = isReachable ? 0 : failures + 1;
  state.value = isReachable;
  if (!isReachable) timer = setTimeout(() => void probe(), backoffMs(failures, Math.random()));
}

/** The server is probed at once when the browser reports that the network changed. */
export function watchNetwork(): void {
  addEventListener('online', onNetwork);
  addEventListener('offline', onNetwork);
}

/** Repeated while the browser is offline, because connections can work for a moment after the event. */
function onNetwork(): void {
  clearTimeout(recheck);
  void probe();
  if (!navigator.onLine) recheck = setTimeout(onNetwork, RECHECK_MS);
}

async function probe(): Promise<void> {
  try {
    await fetch('livez', { cache: 'no-store' });
    reportReachable(true);
  } catch {
    reportReachable(false);
  }
}

/** Calls `work` each time the server responds again after it did not. Returns a function that ends this. */
export function onReachable(work: () => void): () => void {
  let wasReachable = state.peek();
  return state.subscribe((isReachable) => {
    if (isReachable && !wasReachable) queueMicrotask(work);
    wasReachable = isReachable;
  });
}
