import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar-rig.ts';

/** An address of this machine that is not loopback: whoever connects to it comes from it. */
const address = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address;

/** The row of the configuration table: what is answered to whom. `bare`: the status, without body. */
const ROWS: [path: string, method: string, outside: number | 'bare'][] = [
  ['/readyz', 'GET', 200],
  ['/drain', 'GET', 200],
  ['/health/live', 'GET', 200],
  ['/health/ready', 'GET', 'bare'],
  ['/metrics', 'GET', 200],
  ['/capabilities', 'GET', 200],
  ['/.well-known/agent-card.json', 'GET', 200],
  ['/gap', 'GET', 403],
  ['/gap?view=alignment', 'GET', 403],
  ['/explore', 'GET', 403],
  ['/usage', 'GET', 403],
  ['/audit', 'GET', 403],
  ['/audit/stream', 'GET', 403],
  ['/events', 'POST', 403],
  ['/proof', 'GET', 403],
  ['/proof/rule/MEM-01', 'GET', 403],
  ['/proof/rule/MEM-01', 'POST', 403],
  ['/proof/rule/MEM-01', 'DELETE', 403],
  ['/nothing', 'GET', 403],
  ['/%67ap', 'GET', 403],
  ['//gap', 'GET', 403],
  ['/health/live/../../gap', 'GET', 403],
  ['/readyz', 'POST', 405],
];

(address === undefined ? describe.skip : describe)('a request that does not come over loopback', () => {
  let rig: SidecarRig;
  const ask = async (path: string, method: string): Promise<Response> =>
    fetch(`http://${address}:${rig.sidecar.controlPort}${path}`, { method });

  describe.each(['local', 'any'] as const)('with CONTROL_ACCESS=%s', (access) => {
    beforeAll(async () => {
      rig = await startSidecarRig({
        manifest: manifestText(),
        bindAddress: '0.0.0.0',
        env: { CONTROL_ACCESS: access, OPENAI_API_KEY: 'k' },
      });
    });
    afterAll(() => rig.close());

    describe.each(['', '/platform'])('under the prefix "%s"', (prefix) => {
      test.each(ROWS)('%s by %s: local answers %s', async (path, method, outside) => {
        const controller = new AbortController();
        const response = await fetch(`http://${address}:${rig.sidecar.controlPort}${prefix}${path}`, {
          method,
          signal: controller.signal,
        });
        if (access === 'any') {
          expect(response.status).not.toBe(403);
          controller.abort();
          return;
        }
        const body = await response.text();
        expect(response.status).toBe(outside === 'bare' ? 200 : outside);
        if (outside === 'bare') expect(body).toBe('');
        if (outside === 403)
          expect(JSON.parse(body)).toEqual({
            type: 'about:blank',
            title: 'Forbidden',
            status: 403,
            detail: 'this route is answered on loopback only',
          });
      });
    });
  });

  test('hears that the agent is not ready by the status alone', async () => {
    rig = await startSidecarRig({
      manifest: manifestText(),
      bindAddress: '0.0.0.0',
      env: { CONTROL_ACCESS: 'local' },
    });
    const outside = await ask('/health/ready', 'GET');
    const inside = await rig.control('/health/ready');
    const bodies = [await outside.text(), ((await inside.json()) as { status: string }).status];
    await rig.close();
    expect([outside.status, inside.status, ...bodies]).toEqual([503, 503, '', 'not-ready']);
  });
});
