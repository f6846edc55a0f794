import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { whyNoDebianServers } from '../../testing/machine/debian-server.ts';
import {
  AGENT,
  CHUNKING,
  CODINGS,
  EXPECTATIONS,
  HOSTS,
  LENGTHS,
  LINES,
  TARGETS,
  UPGRADES,
  type Attack,
  type Reading,
} from '../../testing/http/framing-attacks.ts';
import { startNginxAgent, type NginxAgent, type NginxRequest } from '../../testing/sidecar/nginx-agent.ts';
import { startProxyBefore } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

type Proxy = Awaited<ReturnType<typeof startProxyBefore>>;

const statusesOf = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/** Sends the bytes in `pieces` writes. Returns everything received until the connection closed. */
async function exchange(port: number, bytes: string, pieces: number): Promise<string> {
  let text = '';
  const socket = connect(port, '127.0.0.1').setNoDelay();
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.on('error', () => undefined);
  const size = Math.ceil(bytes.length / pieces);
  for (let at = 0; at < bytes.length; at += size) {
    socket.write(bytes.slice(at, at + size), 'latin1');
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  return text;
}

(whyNoDebianServers() ? describe.skip : describe)(
  'nginx behind the proxy parses requests as the proxy does',
  () => {
    let nginx: NginxAgent;
    let proxy: Proxy;
    beforeAll(async () => {
      nginx = await startNginxAgent();
      proxy = await startProxyBefore(nginx.url, { withQuery: true, capacity: 10_000 });
    });
    afterAll(async () => {
      await proxy.close();
      await nginx.close();
    });

    async function run(attack: Attack, pieces = 1): Promise<void> {
      const { statuses, readings, bytes } = attack;
      const first = proxy.audit.ring.last + 1;
      await nginx.taken();
      const text = await exchange(proxy.port, bytes, pieces);
      expect(statusesOf(text)).toEqual(statuses);
      const entriesNow = () => proxy.audit.ring.newest(proxy.audit.ring.last + 1 - first);
      await until(
        () => entriesNow().every(({ outcome }) => outcome !== undefined),
        'the entries’ completion',
      );
      const seen = await nginx.taken();
      // Requests of one connection may run concurrently, and the log has them in the order of their completion.
      const whole = seen
        .filter(({ status }) => status === 200)
        .sort((a, b) => Number(a.uri === '/hidden') - Number(b.uri === '/hidden'));
      const read = ({ method, uri, host, body }: NginxRequest): Reading => ({
        ...{ method, path: uri, body },
        host: host === nginx.url.host ? AGENT : host,
      });
      expect(whole.map(read)).toEqual(readings);
      const recorded = entriesNow().map(({ requestId, method, path, bytesIn, statusCode }) => ({
        ...{ requestId, method, path, bytesIn, statusCode },
      }));
      const cutEntry = recorded.filter(({ statusCode }) => statusCode !== 200);
      expect(recorded.filter((entry) => !cutEntry.includes(entry))).toEqual(
        whole.map(({ requestId, method, uri, body }) => ({
          ...{ requestId, method, path: uri, bytesIn: body.length, statusCode: 200 },
        })),
      );
      expect(cutEntry).toHaveLength(attack.cut ? 1 : 0);
      // The agent parses a cut request in the same way too, but maybe later than the client has finished.
      const cutBefore = proxy.audit.ring.newest().filter(({ statusCode }) => statusCode !== 200);
      for (const { requestId, method, uri, status } of seen)
        if (status !== 200)
          expect(cutBefore).toContainEqual(expect.objectContaining({ requestId, method, path: uri }));
    }

    describe.each([
      ['transfer codings', CODINGS],
      ['lengths', LENGTHS],
      ['hosts', HOSTS],
      ['targets and versions', TARGETS],
      ['lines and headers', LINES],
      ['chunks', CHUNKING],
      ['upgrades', UPGRADES],
      ['expectations', EXPECTATIONS],
    ])('%s:', (_group, attacks) => {
      test.each(attacks.map((attack) => [attack.title, attack] as const))('%s', async (_title, attack) => {
        await run(attack);
        await run(attack, 100);
      });
    });
  },
);
