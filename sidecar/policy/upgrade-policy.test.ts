import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { PolicyResult, PolicyEngine } from '../../core/policy/engine.ts';
import type { PolicyMode } from '../../core/shapes/values.ts';
import { eachRequest } from '../../testing/http/each-request.ts';
import { aMoment } from '../../testing/time/moment.ts';
import { askRaw, completedEntry, startRawRig, type ProxyRig } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

const UPGRADE =
  'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
const SWITCH =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Platform-Tools-Called: drop\r\n\r\nfirst bytes';

const denied: PolicyResult = { state: 'answered', denials: ['no'] };
const synchronous: PolicyEngine = { evaluate: () => denied };
const asynchronous: PolicyEngine = {
  evaluate: () => aMoment().then(() => denied),
};

let rig: ProxyRig;
afterEach(() => rig.close());

async function start(engine: PolicyEngine, mode: PolicyMode): Promise<Set<Socket>> {
  const open = new Set<Socket>();
  const onSocket = (socket: Socket): void => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    eachRequest(socket, () => socket.write(SWITCH));
  };
  rig = await startRawRig(onSocket, { engine, mode });
  return open;
}

describe.each<[string, PolicyEngine]>([
  ['synchronously', synchronous],
  ['asynchronously', asynchronous],
])('a switch to WebSocket that the engine denies %s', (_when, engine) => {
  test('is rejected with 403 in enforce mode and closed at the agent', async () => {
    const open = await start(engine, 'enforce');
    const text = await askRaw(rig.port, UPGRADE);
    expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(text).toContain('X-Platform-Policy-Violations: no\r\n');
    expect(text).not.toContain('first bytes');
    await until(() => open.size === 0, 'the end at the agent');
    expect(await completedEntry(rig)).toMatchObject({
      outcome: 'deny',
      blocked: true,
      statusCode: 403,
      upstreamStatusCode: 101,
    });
  });

  test('passes in track mode with the reasons in its head and its first bytes', async () => {
    await start(engine, 'track');
    const text = await askRaw(rig.port, UPGRADE, 'first bytes');
    expect(text).toMatch(/^HTTP\/1\.1 101 /);
    expect(text.toLowerCase()).toContain('x-platform-policy-violations: no\r\n');
    expect(text).toContain('first bytes');
    expect(await completedEntry(rig)).toMatchObject({ outcome: 'deny', statusCode: 101 });
  });
});
