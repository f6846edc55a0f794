import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { whyNoDebianServers } from '../../testing/machine/debian-server.ts';
import * as attacks from '../../testing/http/framing-attacks.ts';
import { startNginxAgent, type NginxAgent, type NginxRequest } from '../../testing/sidecar/nginx-agent.ts';
import fc from '../../testing/random/properties.ts';
import { startProxyBefore } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

const CORPUS = [
  ...attacks.CODINGS,
  ...attacks.LENGTHS,
  ...attacks.HOSTS,
  ...attacks.TARGETS,
  ...attacks.LINES,
  ...attacks.CHUNKING,
  ...attacks.UPGRADES,
  ...attacks.EXPECTATIONS,
].filter(({ bytes }) => bytes.length < 1_000);
/** Most valid requests stay parseable after a few mutations. */
const [VALID, HOSTILE] = [true, false].map((isValid) =>
  CORPUS.filter(({ readings }) => readings.length > 0 === isValid).map(({ bytes }) => bytes),
) as [string[], string[]];

const FIELDS = [
  'Transfer-Encoding: chunked',
  'Content-Length: 5',
  'Content-Length: 0',
  'Host: other.example',
  'Connection: close',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Upgrade: h2c',
  'Expect: 100-continue',
  'TE: trailers',
].map((field) => `${field}\r\n`);
/** Tokens that parsers are known to handle differently. */
const TOKENS = [
  ...['\r\n', '\n', '\r', '\0', ' ', '\t', '\x0b', '\x0c', '\x7f', '\x80', '\x85', '\xa0', '\xff'],
  ...[':', ';', ',', '"', '#', '%00', '\\', '/', '?', '@', '*', '+', '-', '0', '5', 'f', '0x'],
  ...['chunked', 'identity', 'HTTP/1.0', 'HTTP/1.1', 'http://b', '0\r\n\r\n', '\r\n\r\n', '5\r\nhello\r\n'],
  ...['GET /inner HTTP/1.1\r\nHost: inner.example\r\n\r\n', ...FIELDS],
];

const mutation = fc.record({
  kind: fc.constantFrom('insert', 'replace', 'delete', 'flip', 'repeat line', 'move line', 'add field'),
  /** Position as a fraction of the length. */
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  to: fc.double({ min: 0, max: 1, noNaN: true }),
  size: fc.integer({ min: 1, max: 12 }),
  token: fc.constantFrom(...TOKENS),
  field: fc.constantFrom(...FIELDS),
});
type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

function mutate(bytes: string, { kind, at, to, size, token, field }: Mutation): string {
  const place = Math.floor(at * bytes.length);
  const [before, after] = [bytes.slice(0, place), bytes.slice(place)];
  if (kind === 'insert') return before + token + after;
  if (kind === 'replace') return before + token + after.slice(token.length);
  if (kind === 'delete') return before + after.slice(size);
  if (kind === 'flip') return before + String.fromCharCode(Math.floor(to * 255)) + after.slice(1);
  const lines = bytes.split(/(?<=\n)/);
  const [from, target] = [Math.floor(at * (lines.length - 1)), Math.floor(to * (lines.length - 1))];
  if (kind === 'add field') lines.splice(Math.min(1 + target, lines.length), 0, field);
  else if (kind === 'repeat line') lines.splice(target, 0, lines[from]!);
  else lines.splice(target, 0, ...lines.splice(from, 1));
  return lines.join('');
}

const client = fc.record({
  bytes: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...VALID) },
    { weight: 1, arbitrary: fc.constantFrom(...HOSTILE) },
  ),
  mutations: fc.array(mutation, { minLength: 1, maxLength: 3 }),
  pieces: fc.constantFrom(1, 2, 9),
});
type Client = typeof client extends fc.Arbitrary<infer T> ? T : never;

const wireOf = ({ bytes, mutations }: Client): string => mutations.reduce(mutate, bytes);

/** Number of runs with 24 clients each. Example for other values: `RUNS=2000 SEED=7`. */
const RUNS = Number(process.env['RUNS'] ?? 60);
/** Milliseconds without data until the client disconnects. Later data is cut off, which does not affect the parsing. */
const QUIET_MS = 60;

/** Sends the bytes and disconnects once nothing more arrives. Returns everything received. */
async function exchange(port: number, wire: string, pieces: number): Promise<string> {
  let text = '';
  const socket = connect(port, '127.0.0.1').setNoDelay();
  const disconnect = (): void => void socket.destroy();
  let quiet = setTimeout(disconnect, 1_000);
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
    clearTimeout(quiet);
    quiet = setTimeout(disconnect, QUIET_MS);
  });
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.on('error', disconnect);
  const size = Math.ceil(wire.length / pieces);
  for (let at = 0; at < wire.length && !socket.destroyed; at += size) {
    socket.write(wire.slice(at, at + size), 'latin1');
    await new Promise((resolve) => setImmediate(resolve));
  }
  clearTimeout(quiet);
  quiet = setTimeout(disconnect, QUIET_MS);
  await closed;
  clearTimeout(quiet);
  return text;
}

(whyNoDebianServers() ? describe.skip : describe)('requests with random mutations', () => {
  let nginx: NginxAgent;
  let proxy: Awaited<ReturnType<typeof startProxyBefore>>;
  beforeAll(async () => {
    nginx = await startNginxAgent();
    proxy = await startProxyBefore(nginx.url, { withQuery: true, capacity: 10_000 });
  });
  afterAll(async () => {
    await proxy.close();
    await nginx.close();
  });

  /** Checks that nginx parsed the request, the body and the host that the proxy recorded. */
  function expectRecorded(seen: NginxRequest, entries: ReadonlyMap<string, AuditEntry>): void {
    const { requestId, method, uri, host, forwardedHost, body, status, line } = seen;
    const entry = entries.get(requestId);
    expect({ line, method, uri }).toEqual({ line, method: entry?.method, uri: entry?.path });
    if (status === 200) expect({ line, bytes: body.length }).toEqual({ line, bytes: entry?.bytesIn });
    if (forwardedHost !== '') expect(forwardedHost.split(', ').at(-1)).toBe(host);
  }

  test('reach nginx as recorded in the audit ring, or not at all', async () => {
    const counts = { passed: 0, rejected: 0 };
    /** Ids of all requests that nginx has received in all runs. */
    const known = new Set<string>();
    const property = fc.asyncProperty(fc.array(client, { minLength: 24, maxLength: 24 }), async (clients) => {
      const first = proxy.audit.ring.last + 1;
      // Requests of clients that have disconnected belong to the previous run, and may reach nginx during this run.
      const late = await nginx.taken();
      const texts = await Promise.all(clients.map((each) => exchange(proxy.port, wireOf(each), each.pieces)));
      const entriesNow = () => proxy.audit.ring.newest(proxy.audit.ring.last + 1 - first);
      await until(() => entriesNow().every(({ outcome }) => outcome !== undefined), 'completion');
      const entries = new Map(entriesNow().map((entry) => [entry.requestId, entry]));
      const seen = [...late, ...(await nginx.taken())];
      const all = new Map(proxy.audit.ring.newest().map((entry) => [entry.requestId, entry]));
      for (const each of seen) expectRecorded(each, all);
      // No request was received twice, and no request with a 200 response is missing.
      const ids = seen.map(({ requestId }) => requestId);
      expect([...ids, ...known]).toHaveLength(new Set([...ids, ...known]).size);
      for (const id of ids) known.add(id);
      for (const { requestId, statusCode } of entries.values())
        if (statusCode === 200) expect(known).toContain(requestId);
      counts.passed += seen.filter(({ status }) => status === 200).length;
      counts.rejected += texts.filter((text) => / (400|405|413|417|431|501|505) /.test(text)).length;
    });
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
    // On average a run has about four requests that pass and twenty that are rejected.
    expect(counts.passed).toBeGreaterThan(RUNS / 4);
    expect(counts.rejected).toBeGreaterThan(RUNS / 4);
  }, 600_000);
});
