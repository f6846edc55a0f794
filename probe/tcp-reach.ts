import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Reach } from '../core/facts/facts.ts';
import { guarded, RefusedAddress, type AddressGuard } from './address-guard.ts';
import { reasonOf } from './reason.ts';

export const TCP_TIMEOUT_MS = 3000;

/** A request in a server's own protocol that needs no login. */
export interface Ping {
  /** Use TLS. The certificate is not verified, since nothing secret is sent. */
  tls: boolean;
  request: Buffer;
  /** The result for the bytes received so far; null: more bytes are needed. */
  judge(received: Buffer): { ok: true } | { ok: false; reason: string } | null;
}

export interface TcpReachOptions {
  /** Milliseconds, including the response; default 3000. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Absent: an established connection is enough, and is closed without sending a byte. */
  ping?: Ping | null | undefined;
  /** Absent: every address is allowed. */
  guard?: AddressGuard | undefined;
}

/** Maximum bytes read of a response. */
const MAX_RESPONSE_BYTES = 16 * 1024;

/** Whether a TCP connection can be established and, with `ping`, whether the server responds. Never rejects. */
export function tcpReach(host: string, port: number, options: TcpReachOptions = {}): Promise<Reach> {
  const { signal, ping } = options;
  const timeoutMs = options.timeoutMs ?? TCP_TIMEOUT_MS;
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const target = guarded(options.guard, host, port);
    if (signal?.aborted || target.refusal !== null) {
      resolve(target.refusal === null ? aborted : { state: 'unknown', reason: target.refusal });
      return;
    }
    const socket = openSocket({ host, port, lookup: target.lookup }, ping?.tls === true);
    if (socket === null) {
      resolve({ state: 'unreachable', reason: 'the address is not a valid host and port' });
      return;
    }
    let timeoutReason = 'no connection';
    const finish = (reach: Reach): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      socket.destroy();
      resolve(reach);
    };
    const fail = (reason: string): void => finish({ state: 'unreachable', reason });
    const reached = (): void =>
      finish({ state: 'reachable', latencyMs: Math.round(performance.now() - startedAt) });
    const abort = (): void => finish(aborted);
    const timer = setTimeout(() => fail(`${timeoutReason} within ${timeoutMs / 1000} s`), timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });
    // Stays attached, because a destroyed socket may emit another error.
    socket.on('error', (error) => {
      if (error instanceof RefusedAddress) finish({ state: 'unknown', reason: error.message });
      else fail(reasonOf(error));
    });
    socket.once('connect', () => {
      if (!ping) reached();
      else timeoutReason = 'connection accepted, but no response';
    });
    if (ping) sendPing(socket, ping, { reached, fail });
  });
}

function sendPing(
  socket: Socket,
  ping: Ping,
  end: { reached: () => void; fail: (reason: string) => void },
): void {
  let received = Buffer.alloc(0);
  socket.once(ping.tls ? 'secureConnect' : 'connect', () => socket.write(ping.request));
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    const result = ping.judge(received);
    if (result?.ok === true) end.reached();
    else if (result !== null) end.fail(result.reason);
    else if (received.length > MAX_RESPONSE_BYTES) end.fail('the response is too long');
  });
  socket.once('close', () => end.fail('connection closed without a response'));
}

/** null: Node throws on an invalid host or port. */
function openSocket(
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

const aborted: Reach = { state: 'unknown', reason: 'the probe was aborted' };
