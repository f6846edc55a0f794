import { afterEach, expect, test } from '@jest/globals';
import { fullListener } from '../../testing/full-listener.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar-rig.ts';
import { stopwatch } from '../../testing/stopwatch.ts';

let rig: SidecarRig;
afterEach(async () => {
  await rig.close();
});

const REPORTS = ['/health/ready', '/gap', '/explore', '/usage', '/gap?view=alignment'];
const askAll = (times: number): Promise<Response[]> =>
  Promise.all(Array.from({ length: times }, () => REPORTS.map((path) => rig.control(path))).flat());

test('a hundred reports at once ask the agent once', async () => {
  rig = await startSidecarRig({ manifest: manifestText() });
  // Until then all of them must have arrived.
  rig.agent.otherwise = (_request, response) => void setTimeout(() => response.writeHead(404).end(), 3_000);
  rig.agent.asked = {};
  await askAll(20);
  expect(rig.agent.asked).toEqual({
    '/health': 1,
    '/capabilities': 1,
    '/platform/health': 1,
    '/platform/usage': 1,
  });
});

test('whatever hangs, each report is there within six seconds', async () => {
  await using full = await fullListener();
  const address = `127.0.0.1:${full.port}`;
  const requires = { services: [{ name: 'db', address }] };
  const memory = { backend: 'redis', shortTerm: { backend: 'redis', connection: `redis://${address}` } };
  const mcp = { servers: [{ name: 'm', transport: 'http', url: `http://${address}` }] };
  rig = await startSidecarRig({ manifest: manifestText({ requires, memory, mcp }) });
  rig.agent.otherwise = () => undefined;
  const elapsed = stopwatch();
  const answers = await askAll(2);
  expect(elapsed()).toBeLessThan(6_000);
  expect(answers.map(({ status }) => status)).toEqual([503, 200, 200, 200, 200, 503, 200, 200, 200, 200]);
});
