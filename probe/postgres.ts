import type { Ping } from './tcp-reach.ts';

/** SQLSTATE codes that mean the service is down. Other errors concern this user, who does not log in anyway. */
const DOWN: Readonly<Record<string, string>> = {
  '57P01': 'the server is shutting down',
  '57P02': 'the server crashed and is restarting',
  '57P03': 'the server is starting up or shutting down and does not accept connections',
  '53300': 'the server has no free connection slot',
};
const PROTOCOL_3_0 = 196_608;
/** A message's type byte and its length field. */
const HEAD_BYTES = 5;
const MAX_ERROR_BYTES = 8192;

/**
 * A startup packet for PostgreSQL. Like `pg_isready`, a server that requests a password or rejects this user counts as
 * reachable. The ping does not log in: no password is sent, so a wrong password is not detected.
 */
export function postgresPing(user: string, database: string): Ping {
  return {
    tls: false,
    request: startupPacket({ user, database, application_name: 'agent-compliance' }),
    judge,
  };
}

function startupPacket(parameters: Readonly<Record<string, string>>): Buffer {
  // Each string ends with NUL, so NUL bytes inside a string are removed.
  const texts = Object.entries(parameters).flatMap(([name, value]) => [name, value.replaceAll('\0', '')]);
  const body = Buffer.from(`${texts.join('\0')}\0\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(head.length + body.length, 0);
  head.writeInt32BE(PROTOCOL_3_0, 4);
  return Buffer.concat([head, body]);
}

const ERROR = 0x45;
const OTHER_PROTOCOL = { ok: false, reason: 'the server does not speak the PostgreSQL protocol' } as const;

const judge: Ping['judge'] = (received) => {
  if (!'REv'.includes(String.fromCharCode(received[0] ?? 0))) return OTHER_PROTOCOL;
  if (received.length < HEAD_BYTES) return null;
  const length = received.readInt32BE(1) + 1;
  if (length <= HEAD_BYTES || length > MAX_ERROR_BYTES) return OTHER_PROTOCOL;
  // The server requests authentication, by any method, or negotiates the protocol version.
  if (received[0] !== ERROR) return { ok: true };
  if (received.length < length) return null;
  const down = DOWN[sqlState(received.toString('latin1', HEAD_BYTES, length))];
  return down === undefined ? { ok: true } : { ok: false, reason: down };
};

/** Each error field is a letter and a text that ends with NUL; field `C` is the SQLSTATE. */
function sqlState(fields: string): string {
  return (
    fields
      .split('\0')
      .find((field) => field.startsWith('C'))
      ?.slice(1) ?? ''
  );
}
