import type { Ping } from './tcp-reach.ts';

/** The server answers, but not to whoever has not logged in. */
const LOG_IN = new Set(['NOAUTH', 'NOPERM', 'WRONGPASS']);
const MAX_LINE = 512;
const MAX_SHOWN = 100;

/**
 * `PING` for Redis and whatever speaks its protocol. Nobody logs in: a password is not sent, and a wrong one not seen.
 * An error that is about more than logging in (`LOADING`, `MASTERDOWN`, too many clients) is a failure.
 */
export function redisPing(tls: boolean): Ping {
  return { tls, question: Buffer.from('*1\r\n$4\r\nPING\r\n'), judge };
}

const judge: Ping['judge'] = (received) => {
  const end = received.indexOf('\r\n');
  const isReply = received[0] === 0x2b || received[0] === 0x2d;
  if (isReply && end === -1 && received.length < MAX_LINE) return null;
  const line = received.toString('latin1', 0, Math.max(end, 0));
  if (line === '+PONG') return { ok: true };
  const code = /^-([A-Z]+)(?= |$)/.exec(line)?.[1];
  if (code === undefined) return { ok: false, reason: 'it does not speak the protocol of Redis' };
  if (LOG_IN.has(code)) return { ok: true };
  const shown = line.slice(1, MAX_SHOWN).replaceAll(/[^ -~]/g, '?');
  return { ok: false, reason: `it answers PING with an error: ${shown}` };
};
