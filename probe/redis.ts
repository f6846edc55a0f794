import type { Ping } from './tcp-reach.ts';

/** Error codes of a server that works but requires a login. */
const LOGIN_ERRORS = new Set(['NOAUTH', 'NOPERM', 'WRONGPASS']);
const MAX_LINE = 512;
const MAX_SHOWN = 100;

/**
 * `PING` for Redis and compatible servers. The ping does not log in: no password is sent, so a wrong password is not
 * detected. An error that does not concern the login (`LOADING`, `MASTERDOWN`, too many clients) is a failure.
 */
export function redisPing(tls: boolean): Ping {
  return { tls, request: Buffer.from('*1\r\n$4\r\nPING\r\n'), judge };
}

const judge: Ping['judge'] = (received) => {
  const end = received.indexOf('\r\n');
  const isReply = received[0] === 0x2b || received[0] === 0x2d;
  if (isReply && end === -1 && received.length < MAX_LINE) return null;
  const line = received.toString('latin1', 0, Math.max(end, 0));
  if (line === '+PONG') return { ok: true };
  const code = /^-([A-Z]+)(?= |$)/.exec(line)?.[1];
  if (code === undefined) return { ok: false, reason: 'the server does not speak the Redis protocol' };
  if (LOGIN_ERRORS.has(code)) return { ok: true };
  const shown = line.slice(1, MAX_SHOWN).replaceAll(/[^ -~]/g, '?');
  return { ok: false, reason: `PING returned an error: ${shown}` };
};
