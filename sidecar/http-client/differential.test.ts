import { expect, test } from '@jest/globals';
import { diceOf } from '../../testing/random/dice.ts';
import { generatedResponse, piecesOf } from '../../testing/http/generated-responses.ts';
import { IN_SOAK } from '../../testing/time/real-time.ts';
import {
  readWithNode,
  readWithOwnClient,
  readWithUndici,
  type ReadResponse,
} from '../../testing/http/response-parsers.ts';
import { SEED } from '../../testing/random/seed.ts';

/** Number of responses. `make soak` uses a million, but not in its run with fault injection, which does not affect a parser. */
const RESPONSES = IN_SOAK && process.env['FAULTS'] === undefined ? 1_000_000 : 20_000;

/**
 * Responses that the own client refuses, although the other parsers read them: the error, and what such a response has. There are
 * no other differences.
 */
const REFUSALS: readonly [error: string, has: RegExp][] = [
  // The other parsers skip empty lines before a status line, and two servers may disagree about where a response begins.
  ['the response does not begin with a status line', /(?:^|\r\n\r\n)[\r\n]/],
  ['a line ends without CR', /(?:^|\r\n\r\n)\r*\n/],
  // The other parsers accept CR before the end of a status line.
  ['CR in the reason phrase', /^HTTP\/.*\r[^\n]/m],
  ['the status is not a number of three digits', /^HTTP\/\d\.\d \d{3}\r[^\n]/m],
  // Node.js cannot pass on such a status.
  ['the status is not a number of three digits', /^HTTP\/\d\.\d 0\d\d/m],
  // The proxy removes Transfer-Encoding, so it would pass on a body in a coding that nothing names.
  ['the only supported Transfer-Encoding is chunked, once', /^transfer-encoding:/im],
  // A number does not hold it exactly.
  ['the Content-Length is invalid', /^content-length:[\t ]*\d{16,}/im],
  ['a chunk is too large', /^[\da-f]{13,}/im],
  ['an extension of a chunk is invalid', /^[\da-f]+;.*/im],
];

/** Valid responses that undici reads wrongly. They are compared with node:http only. */
const UNDICI_DEFECTS: readonly RegExp[] = [
  // It closes the connection on a 100 that was not requested, and reports a 101 that it then rejects.
  /HTTP\/\d\.\d 10[01]/,
  // It counts a blank after the length as a digit.
  /^content-length:[\t ]*\d+[\t ]+\r/im,
];

/** Other parsers keep blanks after a value, which do not belong to the value. */
const trimmed = (fields: readonly string[]): string[] => fields.map((text) => text.replace(/[\t ]+$/, ''));

function comparable({ information, head, body, trailers, isComplete }: ReadResponse): object {
  return {
    information: information.map(([status, fields]) => [status, trimmed(fields)]),
    head: head && { ...head, fields: trimmed(head.fields) },
    body,
    trailers: trimmed(trailers),
    isComplete,
  };
}

/** undici decodes the reason phrase as UTF-8. */
function withPhraseOfUndici(read: ReadResponse): ReadResponse {
  const { head } = read;
  return { ...read, head: head && { ...head, message: Buffer.from(head.message, 'latin1').toString() } };
}

const isSame = (a: ReadResponse, b: ReadResponse): boolean =>
  JSON.stringify({ ...a, error: '' }) === JSON.stringify({ ...b, error: '' });

const isEqual = (a: ReadResponse, b: ReadResponse): boolean =>
  JSON.stringify(comparable(a)) === JSON.stringify(comparable(b));

/** What the client read before it refused the response is the beginning of what the other parser read. */
function isBeginningOf(own: ReadResponse, other: ReadResponse): boolean {
  if (!own.information.every(([status], at) => status === other.information[at]?.[0])) return false;
  return own.head === null || (own.head.status === other.head?.status && other.body.startsWith(own.body));
}

test(`reads ${RESPONSES} generated responses like node:http and undici, except for the documented refusals`, async () => {
  const dice = diceOf(SEED);
  const counts = { complete: 0, broken: 0, refused: 0, persistent: 0 };
  const refusals = new Set<string>();
  for (let i = 0; i < RESPONSES; i += 1) {
    const { method, wire } = generatedResponse(dice);
    const whole = [Buffer.from(wire, 'latin1')];
    const own = readWithOwnClient(method, whole);
    // In pieces, the result is the same.
    for (const isByteByByte of [false, true])
      if (!isSame(readWithOwnClient(method, piecesOf(dice, wire, isByteByByte)), own))
        throw new Error(`the pieces of ${method} change the result: ${JSON.stringify({ wire, own })}`);
    const others = [readWithNode(method, whole)];
    if (!UNDICI_DEFECTS.some((has) => has.test(wire))) others.push(await readWithUndici(method, whole));
    for (const [at, other] of others.entries()) {
      if (isEqual(at === 0 ? own : withPhraseOfUndici(own), other)) continue;
      const known = REFUSALS.find(([error, has]) => error === own.error && has.test(wire));
      if (known === undefined || !isBeginningOf(own, other))
        throw new Error(
          `${at === 0 ? 'node:http' : 'undici'} reads ${method} differently: ${JSON.stringify({ wire, own, other })}`,
        );
      refusals.add(own.error);
      counts.refused += 1;
    }
    // A connection is used again only if the other clients would use it, too.
    if (own.persists && !others.every(({ persists }) => persists))
      throw new Error(
        `the other clients do not reuse the connection: ${JSON.stringify({ method, wire, others })}`,
      );
    if (own.persists) counts.persistent += 1;
    if (own.isComplete) counts.complete += 1;
    else counts.broken += 1;
  }
  process.stdout.write(`${JSON.stringify(counts)}, refusals: ${[...refusals].sort().join('; ')}\n`);
  // The generator covers every outcome.
  expect(counts.complete).toBeGreaterThan(RESPONSES / 3);
  expect(counts.broken).toBeGreaterThan(RESPONSES / 10);
  expect(counts.persistent).toBeGreaterThan(RESPONSES / 10);
  expect(counts.refused).toBeGreaterThan(RESPONSES / 1_000);
}, 3_600_000);
