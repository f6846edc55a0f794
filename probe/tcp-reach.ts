import { connect, type Socket } from 'node:net';
import type { Reach } from '../core/facts/facts.ts';
import { reasonOf } from './reason.ts';

export const TCP_TIMEOUT_MS = 3000;

/** Whether a TCP connection can be made; it is closed at once, without a byte. Never rejects. */
export function tcpReach(
  host: string,
  port: number,
  options: { timeoutMs?: number | undefined; signal?: AbortSignal | undefined } = {},
): Promise<Reach> {
  const { signal } = options;
  const timeoutMs = options.timeoutMs ?? TCP_TIMEOUT_MS;
  const startedAt = performance.now();
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve(gaveUp);
      return;
    }
    const socket = opened(host, port);
    if (socket === null) {
      resolve({ state: 'unreachable', reason: 'the address is no host and port' });
      return;
    }
    const finish = (reach: Reach): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      socket.destroy();
      resolve(reach);
    };
    const abort = (): void => finish(gaveUp);
    const timer = setTimeout(
      () => finish({ state: 'unreachable', reason: `no connection within ${timeoutMs / 1000} s` }),
      timeoutMs,
    );
    signal?.addEventListener('abort', abort, { once: true });
    // Stays attached: a socket may fail again after it was destroyed.
    socket.on('error', (error) => finish({ state: 'unreachable', reason: reasonOf(error) }));
    socket.once('connect', () =>
      finish({ state: 'reachable', latencyMs: Math.round(performance.now() - startedAt) }),
    );
  });
}

/** Node throws on what can be no address at all. */
function opened(host: string, port: number): Socket | null {
  try {
    return connect({ host, port });
  } catch {
    return null;
  }
}

const gaveUp: Reach = { state: 'unknown', reason: 'the probe was given up' };
