import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Reach } from '../core/facts/facts.ts';
import { guarded, RefusedAddress, type AddressGuard } from './address-guard.ts';
import { reasonOf } from './reason.ts';

export const TCP_TIMEOUT_MS = 3000;

/** A question in a server's own protocol, asked before anybody logs in. */
export interface Ping {
  /** Over TLS; the certificate is not judged, since nothing secret is sent. */
  tls: boolean;
  question: Buffer;
  /** What the bytes that came so far say; null: more must come. */
  judge(received: Buffer): { ok: true } | { ok: false; reason: string } | null;
}

export interface TcpReachOptions {
  /** Milliseconds, an answer included; default 3000. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Absent: a connection is enough, and is closed at once without a byte. */
  ping?: Ping | null | undefined;
  /** Absent: every address is connected to. */
  guard?: AddressGuard | undefined;
}

/** Most bytes of an answer that are read. */
const MAX_ANSWER_BYTES = 16 * 1024;

/** Whether a TCP connection can be made and, with `ping`, whether the server answers on it. Never rejects. */
export function tcpReach(host: string, port: number, options: TcpReachOptions = {}): Promise<Reach> {
  const { signal, ping } = options;
  const timeoutMs = options.timeoutMs ?? TCP_TIMEOUT_MS;
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const way = guarded(options.guard, host, port);
    if (signal?.aborted || way.refusal !== null) {
      resolve(way.refusal === null ? gaveUp : { state: 'unknown', reason: way.refusal });
      return;
    }
    const socket = opened({ host, port, lookup: way.lookup }, ping?.tls === true);
    if (socket === null) {
      resolve({ state: 'unreachable', reason: 'the address is no host and port' });
      return;
    }
    let late = 'no connection';
    const finish = (reach: Reach): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      socket.destroy();
      resolve(reach);
    };
    const fail = (reason: string): void => finish({ state: 'unreachable', reason });
    const reached = (): void =>
      finish({ state: 'reachable', latencyMs: Math.round(performance.now() - startedAt) });
    const abort = (): void => finish(gaveUp);
    const timer = setTimeout(() => fail(`${late} within ${timeoutMs / 1000} s`), timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });
    // Stays attached: a socket may fail again after it was destroyed.
    socket.on('error', (error) => {
      if (error instanceof RefusedAddress) finish({ state: 'unknown', reason: error.message });
      else fail(reasonOf(error));
    });
    socket.once('connect', () => {
      if (!ping) reached();
      else late = 'it accepts connections but does not answer';
    });
    if (ping) converse(socket, ping, { reached, fail });
  });
}

function converse(
  socket: Socket,
  ping: Ping,
  end: { reached: () => void; fail: (reason: string) => void },
): void {
  let received = Buffer.alloc(0);
  socket.once(ping.tls ? 'secureConnect' : 'connect', () => socket.write(ping.question));
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    const verdict = ping.judge(received);
    if (verdict?.ok === true) end.reached();
    else if (verdict !== null) end.fail(verdict.reason);
    else if (received.length > MAX_ANSWER_BYTES) end.fail('its answer is too long');
  });
  socket.once('close', () => end.fail('connection closed without an answer'));
}

/** Node throws on what can be no address at all. */
function opened(
  { host, port, lookup }: { host: string; port: number; lookup: LookupFunction | undefined },
  tls: boolean,
): Socket | null {
  const to = { host, port, ...(lookup && { lookup }) };
  try {
    if (!tls) return connect(to);
    const servername = isIP(host) === 0 ? { servername: host } : {};
    return connectTls({ ...to, rejectUnauthorized: false, ...servername });
  } catch {
    return null;
  }
}

const gaveUp: Reach = { state: 'unknown', reason: 'the probe was given up' };
