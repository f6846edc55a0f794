import { X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:tls';
import { afterEach, expect, test } from '@jest/globals';
import { crossSign, issueCa, issueLeaf } from './issue.ts';
import type { KeyPair } from '../../runtime/http-listener.ts';

const now = new Date();
const HOSTS = ['webhook.platform-system.svc', '127.0.0.1'];
const servers: Server[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

/** Serves `leaf` to a client that trusts `ca`. Returns null, or OpenSSL's error code. */
async function handshake(leaf: KeyPair, ca: string, servername: string): Promise<string | null> {
  const server = createServer(leaf);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, ca, servername }, () => {
      socket.destroy();
      resolve(null);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

test('a client that trusts the CA accepts the leaf only for its hosts', async () => {
  const ca = await issueCa({ now, days: 10 });
  const leaf = await issueLeaf(ca, HOSTS, { now, days: 1 });
  expect(await handshake(leaf, ca.cert, 'webhook.platform-system.svc')).toBeNull();
  expect(await handshake(leaf, ca.cert, 'other.platform-system.svc')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  expect(new X509Certificate(leaf.cert).subjectAltName).toBe(
    'DNS:webhook.platform-system.svc, IP Address:127.0.0.1',
  );
});

test('a client that trusts another CA rejects the leaf', async () => {
  const [ca, other] = await Promise.all([issueCa({ now, days: 10 }), issueCa({ now, days: 10 })]);
  const leaf = await issueLeaf(ca, HOSTS, { now, days: 1 });
  expect(await handshake(leaf, other.cert, HOSTS[0]!)).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
});

test('a client that trusts only the old CA accepts a leaf of the next CA through the cross certificate', async () => {
  const old = await issueCa({ now, days: 10 });
  const next = await issueCa({ now, days: 20 });
  const leaf = await issueLeaf(next, HOSTS, { now, days: 1 });
  const chained = { ...leaf, cert: leaf.cert + (await crossSign(next, old, now)) };
  expect(await handshake(leaf, old.cert, HOSTS[0]!)).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  expect(await handshake(chained, old.cert, HOSTS[0]!)).toBeNull();
  expect(await handshake(chained, next.cert, HOSTS[0]!)).toBeNull();
  expect(await handshake(chained, old.cert + next.cert, HOSTS[0]!)).toBeNull();
});

test('validity starts one hour early and never exceeds that of the signer', async () => {
  const ca = await issueCa({ now, days: 10 });
  const leaf = new X509Certificate((await issueLeaf(ca, HOSTS, { now, days: 90 })).cert);
  const caCertificate = new X509Certificate(ca.cert);
  const seconds = (date: Date) => Math.floor(date.getTime() / 1000);
  expect(seconds(caCertificate.validFromDate)).toBe(seconds(now) - 3600);
  expect(seconds(caCertificate.validToDate)).toBe(seconds(now) + 10 * 86_400);
  expect(leaf.validToDate).toEqual(caCertificate.validToDate);
  expect([caCertificate.ca, leaf.ca]).toEqual([true, false]);
});

test('a certificate that expires after 2049 is readable', async () => {
  const { cert } = await issueCa({ now: new Date('2045-01-01T00:00:00Z'), days: 3650 });
  expect(new X509Certificate(cert).validToDate.toISOString()).toBe('2054-12-30T00:00:00.000Z');
});

test('every CA has its own key and name', async () => {
  const two = await Promise.all([issueCa({ now, days: 1 }), issueCa({ now, days: 1 })]);
  const [a, b] = two.map(({ cert }) => new X509Certificate(cert));
  expect(a?.subject).toMatch(/^CN=agent-compliance CA [0-9a-f]{8}$/);
  expect(a?.subject).not.toBe(b?.subject);
  expect(a?.serialNumber).not.toBe(b?.serialNumber);
});
