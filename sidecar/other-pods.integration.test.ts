import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  DECLARED_HOST as NODE,
  HIDDEN_HOST as OTHER_POD,
  openTwoNetworks,
  POD,
  whyNoNetworks,
  type TwoNetworks,
} from '../testing/egress/two-networks.ts';
import { manifestText } from '../testing/sidecar/sidecar-rig.ts';

const PROCESSES = join(import.meta.dirname, '../testing/processes');
const missing = whyNoNetworks();
const networkTest = missing === undefined ? test : test.skip;

let networks: TwoNetworks;
let folder: string;

/** The responses to GET requests from an address in one of the networks. */
async function statusesOf(
  where: 'pod' | 'outside',
  from: string,
  paths: readonly string[],
  to = `${POD}:4001`,
): Promise<(number | null)[]> {
  const requests = paths.map((path) => [from, `http://${to}${path}`]);
  const child = networks.start(where, [join(PROCESSES, 'send-requests.ts'), JSON.stringify(requests)]);
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return JSON.parse(line) as (number | null)[];
}

beforeAll(async () => {
  if (missing !== undefined) return;
  folder = await mkdtemp(join(tmpdir(), 'other-pods-'));
  await writeFile(join(folder, 'agent.yaml'), manifestText());
  networks = await openTwoNetworks();
  const sidecar = networks.start('pod', [join(import.meta.dirname, 'main.ts')], {
    ...{ UPSTREAM_URL: 'http://127.0.0.1:3000', MANIFEST_PATH: join(folder, 'agent.yaml') },
    ...{ OPENAI_API_KEY: 'unused', CONTROL_ACCESS: 'local', LOG_FORMAT: 'json' },
  });
  sidecar.stdout!.resume();
  // The startup probe.
  while ((await statusesOf('outside', NODE, ['/readyz']))[0] !== 200) continue;
}, 60_000);

afterAll(async () => {
  if (missing !== undefined) return;
  await networks.close();
  await rm(folder, { recursive: true });
});

networkTest('another pod can neither read reports nor drain connections', async () => {
  const paths = ['/gap', '/audit', '/proof', '/drain', '/platform/drain', '/health/live', '/metrics'];
  expect(await statusesOf('outside', OTHER_POD, paths)).toEqual([403, 403, 403, 403, 403, 200, 200]);
});

networkTest('the kubelet drains connections from the address of its first probe', async () => {
  expect(await statusesOf('outside', NODE, ['/drain', '/gap'])).toEqual([200, 403]);
});

networkTest('another pod behind a mesh proxy cannot read reports', async () => {
  const proxy = networks.start('pod', [join(PROCESSES, 'mesh-proxy.ts'), POD, '4001']);
  await once(proxy.stdout!, 'data');
  const statuses = await statusesOf('outside', OTHER_POD, ['/gap', '/audit', '/readyz'], `${POD}:15006`);
  expect(statuses).toEqual([403, 403, 200]);
});

// A port-forward connects to localhost in the network namespace of the pod.
networkTest.each([
  ['127.0.0.1', 'localhost:4001'],
  ['::1', '[::1]:4001'],
])('a port-forward from %s has access', async (from, to) => {
  expect(await statusesOf('pod', from, ['/gap', '/audit', '/drain'], to)).toEqual([200, 200, 200]);
});
