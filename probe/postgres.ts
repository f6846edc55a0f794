import type { Ping } from './tcp-reach.ts';

/** Errors by SQLSTATE that mean no service; any other is about this user, who does not log in. */
const DOWN: Readonly<Record<string, string>> = {
  '57P01': 'it is shutting down',
  '57P02': 'it has crashed and restarts',
  '57P03': 'it is starting up or shutting down and takes no connection yet',
  '53300': 'it has no connection to spare',
};
const PROTOCOL_3_0 = 196_608;
/** A message's type and its length. */
const HEAD_BYTES = 5;
const MAX_ERROR_BYTES = 8192;

/**
 * A startup packet for PostgreSQL, read as `pg_isready` reads the answer: whoever asks for a password, or refuses this
 * user, answers. Nobody logs in: a password is not sent, and a wrong one not seen.
 */
export function postgresPing(user: string, database: string): Ping {
  return {
    tls: false,
    question: startupPacket({ user, database, application_name: 'agent-compliance' }),
    judge,
  };
}

function startupPacket(parameters: Readonly<Record<string, string>>): Buffer {
  // The strings end with a NUL each, and one of them must not end early.
  const texts = Object.entries(parameters).flatMap(([name, value]) => [name, value.replaceAll('\0', '')]);
  const body = Buffer.from(`${texts.join('\0')}\0\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(head.length + body.length, 0);
  head.writeInt32BE(PROTOCOL_3_0, 4);
  return Buffer.concat([head, body]);
}

const ERROR = 0x45;
const STRANGER = { ok: false, reason: 'it does not speak the protocol of PostgreSQL' } as const;

const judge: Ping['judge'] = (received) => {
  if (!'REv'.includes(String.fromCharCode(received[0] ?? 0))) return STRANGER;
  if (received.length < HEAD_BYTES) return null;
  const length = received.readInt32BE(1) + 1;
  if (length <= HEAD_BYTES || length > MAX_ERROR_BYTES) return STRANGER;
  // It asks for authentication, in whatever way, or negotiates the protocol's version.
  if (received[0] !== ERROR) return { ok: true };
  if (received.length < length) return null;
  const down = DOWN[sqlState(received.toString('latin1', HEAD_BYTES, length))];
  return down === undefined ? { ok: true } : { ok: false, reason: down };
};

/** Fields of an error: a letter and a text each, with a NUL behind it; `C` is the SQLSTATE. */
function sqlState(fields: string): string {
  return (
    fields
      .split('\0')
      .find((field) => field.startsWith('C'))
      ?.slice(1) ?? ''
  );
}
