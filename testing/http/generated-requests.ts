import {
  bodyOf,
  chance,
  chunked,
  fieldsOf,
  mutated,
  pick,
  shuffled,
  TOKENS,
  upTo,
  type Dice,
} from './generated-responses.ts';

const METHODS = [
  'GET',
  'GET',
  'POST',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'HEAD',
  'TRACE',
  'PRI',
  'get',
];
const TARGETS = [
  ...['/', '/a?b=c', '/v1/chat/completions', '//a', '/%00', '/"', '/a b', '/a#b', '/\xe4', '/\\', '/?'],
  ...['*', 'http://b/', 'b:80', '', '/a\tb', '/x'.repeat(300)],
];
const VERSIONS = [
  ...Array<string>(12).fill('HTTP/1.1'),
  'HTTP/1.0',
  'HTTP/2.0',
  'http/1.1',
  'HTTP/1.1 ',
  ' HTTP/1.1',
];
const HOSTS = [
  ...Array<string>(12).fill('shop.example'),
  'a:1',
  '[::1]:80',
  '',
  'a/b',
  'a b',
  'a, b',
  'a@b',
  '\xe4',
  ' a',
];
const CONNECTIONS = ['keep-alive', 'Keep-Alive', 'close', 'keep-alive, X-A', 'Upgrade', 'TE', ''];
const MORE = [
  'Host: other.example',
  'Content-Length: 5',
  'Content-Length: 005',
  'Content-Length: +5',
  'Content-Length : 5',
  'Transfer-Encoding: chunked',
  'Transfer_Encoding: chunked',
  'Upgrade: h2c',
  'Upgrade: websocket',
  'Expect: 100-continue',
  'TE: trailers',
  'Trailer: X-Sum',
  'Proxy-Connection: keep-alive',
  'HTTP2-Settings: AAMAAABkAAQAAP__',
  'X-Request-Id: 7',
  ' folded',
  'no colon',
  ': no name',
  'a b: c',
].map((line) => `${line}\r\n`);
const OWN_TOKENS = [...TOKENS, ...MORE, 'GET /inner HTTP/1.1\r\nHost: inner.example\r\n\r\n'];

/** A random request as bytes in latin1: most are ordinary, the others have something unusual or a few changed bytes. */
export function generatedRequest(dice: Dice): string {
  const rare = <T>(list: readonly T[]): T => (chance(dice, 0.85) ? list[0]! : pick(dice, list));
  const body = chance(dice, 0.5) ? '' : bodyOf(dice);
  const lines = [`Host: ${rare(HOSTS)}\r\n`, fieldsOf(dice, 4)];
  if (chance(dice, 0.3)) lines.push(`Connection: ${rare(CONNECTIONS)}\r\n`);
  if (chance(dice, 0.1)) lines.push(pick(dice, MORE));
  const isChunked = chance(dice, 0.05);
  if (isChunked) lines.push('Transfer-Encoding: chunked\r\n');
  else if (body !== '' || chance(dice, 0.1)) lines.push(`Content-Length: ${body.length}\r\n`);
  const method = chance(dice, 0.85) ? pick(dice, ['GET', 'POST']) : pick(dice, METHODS);
  const start = `${method} ${rare(TARGETS)} ${rare(VERSIONS)}\r\n`;
  const wire = `${start}${shuffled(dice, lines)}\r\n${isChunked ? chunked(dice, body) : body}`;
  const whole = chance(dice, 0.05) ? wire.slice(0, upTo(dice, wire.length)) : wire;
  return chance(dice, 0.5) ? whole : mutated(dice, whole, OWN_TOKENS);
}
