import { afterEach, expect, test } from '@jest/globals';
import { countRequests } from '../../testing/http/count-requests.ts';
import { fullListener } from '../../testing/http/full-listener.ts';
import { holdTimers } from '../../testing/time/held-timers.ts';
import { until } from '../../testing/time/until.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';

let rig: SidecarRig;
afterEach(async () => {
  await rig.close();
});

const REPORTS = ['/health/ready', '/gap', '/explore', '/usage', '/gap?view=alignment'];
const requestAll = (times: number): Promise<Response[]> =>
  Promise.all(Array.from({ length: times }, () => REPORTS.map((path) => rig.control(path))).flat());

test('a hundred concurrent reports probe the agent once', async () => {
  rig = await startSidecarRig({ manifest: manifestText() });
  // Opens the connections in advance, so that all requests arrive within the time limit of a probe.
  for (const response of await requestAll(20)) await response.text();
  using arrived = countRequests(rig.sidecar.controlPort);
  rig.agent.otherwise = (_request, response) =>
    void until(() => arrived.count() === 100).then(() => response.writeHead(404).end());
  rig.agent.asked = {};
  await requestAll(20);
  expect(rig.agent.asked).toEqual({
    '/health': 1,
    '/capabilities': 1,
    '/.well-known/agent-card.json': 1,
    '/platform/health': 1,
    '/platform/usage': 1,
  });
});

test('each report is ready within six seconds when all targets hang', async () => {
  await using full = await fullListener();
  const address = `127.0.0.1:${full.port}`;
  const requires = { services: [{ name: 'db', address }] };
  const memory = { backend: 'redis', shortTerm: { backend: 'redis', connection: `redis://${address}` } };
  const mcp = { servers: [{ name: 'm', transport: 'http', url: `http://${address}` }] };
  using timers = holdTimers();
  rig = await startSidecarRig({ manifest: manifestText({ requires, memory, mcp }) });
  rig.agent.otherwise = () => undefined;
  using arrived = countRequests(rig.sidecar.controlPort);
  const responses = requestAll(2);
  await until(() => arrived.count() === 10 && Object.keys(rig.agent.asked).length === 5, 'the probes');
  await timers.pass(5_999);
  expect((await responses).map(({ status }) => status)).toEqual([
    503, 200, 200, 200, 200, 503, 200, 200, 200, 200,
  ]);
});
