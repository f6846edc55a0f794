// Each evasion of the table in docs/guide/egress.md leaves the trace that the table has, or none where it has none: an agent in a
// network of its own avoids a real sidecar with lanes, census and CONNECT.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { EgressCall } from '../../core/egress/egress-call.ts';
import type { MatrixReport, MatrixRow } from '../../core/egress/matrix.ts';
import type { Action } from '../processes/evasive-agent.ts';
import { ENDING_PORT, HIDDEN_CALL, VENDOR_PORT } from './outside-ports.ts';
import {
  DECLARED_HOST,
  HIDDEN_HOST,
  openTwoNetworks,
  whyNoNetworks,
  type TwoNetworks,
} from './two-networks.ts';

const ROOT = join(import.meta.dirname, '../..');
const missing = whyNoNetworks();
if (missing !== undefined) process.stderr.write(`SKIPPED: evasions of the egress lanes: ${missing}\n`);
const inNetworks = missing === undefined ? test : test.skip;

const MANIFEST = JSON.stringify({
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'Sells things.' },
  spec: {
    model: { provider: 'openai', id: 'gpt-4o-mini', apiKey: '$env:OPENAI_API_KEY' },
    tools: [{ name: 'search' }],
    egress: { hosts: [DECLARED_HOST] },
    api: { type: 'rest', chatEndpoint: { path: '/v1/chat' } },
  },
});

const CONTROL = 'http://127.0.0.1:4001';
const LANE = 'http://127.0.0.1:4002/openai/v1/chat/completions';
const QUESTION = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
const WAIT_MS = 60_000;
/** The census of UDP takes ten seconds, in which requests without a pause keep three processes busy. */
const PAUSE_MS = 50;

let networks: TwoNetworks;
let folder: string;
let act: (action: Action) => Promise<unknown>;

beforeAll(async () => {
  if (missing !== undefined) return;
  folder = await mkdtemp(join(tmpdir(), 'evasion-'));
  const manifest = join(folder, 'agent.yaml');
  await writeFile(manifest, MANIFEST);
  networks = await openTwoNetworks();
  const outside = networks.start('outside', [join(ROOT, 'testing/processes/outside-hosts.ts')]);
  await once(outside.stdout!, 'data');
  const agent = networks.start('pod', [join(ROOT, 'testing/processes/evasive-agent.ts')]);
  const lines = createInterface({ input: agent.stdout! })[Symbol.asyncIterator]();
  await lines.next();
  act = async (action) => {
    agent.stdin!.write(`${JSON.stringify(action)}\n`);
    const { done, value } = await lines.next();
    if (done === true) throw new Error('the agent has ended');
    return JSON.parse(value) as unknown;
  };
  const sidecar = networks.start('pod', [join(ROOT, 'dist/sidecar/main.js')], {
    ...{ UPSTREAM_URL: 'http://127.0.0.1:3000', MANIFEST_PATH: manifest, OPENAI_API_KEY: 'unused' },
    ...{
      POLICY_PROXY_MODE: 'track',
      POLICY_ENGINE: 'builtin',
      LOG_FORMAT: 'text',
      BIND_ADDRESS: '127.0.0.1',
    },
    EGRESS_LANES: `openai=http://${DECLARED_HOST}:${VENDOR_PORT}`,
    ...{ EGRESS_CONNECT: 'log', CENSUS: 'on' },
  });
  sidecar.stdout!.resume();
  await until(async () => (await get('/readyz')).status === 200, 'the sidecar');
});

afterAll(async () => {
  if (missing !== undefined) return;
  await networks.close();
  await rm(folder, { recursive: true });
});

interface Answer {
  status?: number;
  text?: string;
}
const get = async (path: string): Promise<Answer> =>
  (await act({ action: 'fetch', url: CONTROL + path })) as Answer;
const json = async <T>(path: string): Promise<T> => JSON.parse((await get(path)).text ?? 'null') as T;
const rows = async (): Promise<MatrixRow[]> => (await json<MatrixReport>('/explore?view=matrix')).rows;
const calls = (): Promise<EgressCall[]> => json('/egress');
const ask = (url: string, body: object = {}) => act({ action: 'fetch', url, body: { ...QUESTION, ...body } });
const unexplained = async (): Promise<number> =>
  Number(/^platform_sidecar_unexplained_opens (\d+)$/m.exec((await get('/metrics')).text ?? '')?.[1] ?? NaN);

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + WAIT_MS;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`not in ${WAIT_MS} ms: ${what}`);
    await sleep(PAUSE_MS);
  }
}

/** The census has this undeclared address. The connection is held until then. */
async function seenByCensus(address: string): Promise<void> {
  await until(
    async () =>
      (await rows()).some(
        ({ kind, name, declared, observed }) =>
          kind === 'host' && name === address && declared !== true && observed === true,
      ),
    `${address} in the census`,
  );
}

const HIDDEN = { host: HIDDEN_HOST, port: VENDOR_PORT };
const PAST = `http://${HIDDEN_HOST}:${VENDOR_PORT}/v1/chat/completions`;

const after = async (id: number): Promise<EgressCall[]> => (await calls()).filter((call) => call.id > id);

/** Calls that are not in the log after an action, because no lane sees them, are not waited for. */
async function newCalls(action: () => Promise<unknown>): Promise<EgressCall[]> {
  const last = (await calls()).at(-1)?.id ?? 0;
  await action();
  return await after(last);
}

/** The call that an action adds to the log. */
async function newCall(action: () => Promise<unknown>): Promise<EgressCall | undefined> {
  const last = (await calls()).at(-1)?.id ?? 0;
  await action();
  await until(async () => (await after(last)).length > 0, 'a call in the log');
  return (await after(last))[0];
}

/** By the first cell of the row in the table. */
const EVASIONS: Readonly<Record<string, () => Promise<void>>> = {
  'has a base URL in its code, or unsets a variable': async () => {
    await act({ action: 'fetch', url: 'http://127.0.0.1:4000/v1/chat', body: { message: 'hi' } });
    await act({ action: 'hold', ...HIDDEN });
    await seenByCensus(`${HIDDEN_HOST}:${VENDOR_PORT}`);
    await until(
      async () => (await rows()).some(({ kind, verdict }) => kind === 'tokens' && verdict === 'misreported'),
      'misreported tokens',
    );
    const tunnel = await newCall(() => act({ action: 'tunnel', ...HIDDEN }));
    expect(tunnel).toMatchObject({ method: 'CONNECT', violations: ['host_not_declared'] });
    expect(JSON.stringify(tunnel)).toContain(HIDDEN_HOST);
  },
  "uses another vendor's library": async () => {
    expect(await newCalls(() => ask(PAST))).toEqual([]);
    await act({ action: 'hold', ...HIDDEN });
    await seenByCensus(`${HIDDEN_HOST}:${VENDOR_PORT}`);
    const tunnel = await newCall(() => act({ action: 'tunnel', ...HIDDEN }));
    expect(tunnel?.violations).toEqual(['host_not_declared']);
  },
  'ignores `HTTPS_PROXY`': async () => {
    expect(await newCalls(() => act({ action: 'hold', ...HIDDEN }))).toEqual([]);
    await seenByCensus(`${HIDDEN_HOST}:${VENDOR_PORT}`);
  },
  'opens connections of less than 50 ms': async () => {
    const before = await unexplained();
    const short = { action: 'short', host: HIDDEN_HOST, port: ENDING_PORT, count: 200 } as const;
    expect(await newCalls(() => act(short))).toEqual([]);
    await until(async () => (await unexplained()) > before, 'unexplained opens');
  },
  'uses QUIC, or a tunnel over DNS': async () => {
    expect(await newCalls(() => act({ action: 'holdUdp', host: HIDDEN_HOST, port: 443 }))).toEqual([]);
    await seenByCensus(`${HIDDEN_HOST}:443`);
  },
  'renames a tool': async () => {
    const tools = [{ type: 'function', function: { name: 'tidy_up', parameters: {} } }];
    const call = await newCall(() => ask(LANE, { tools }));
    expect(call).toMatchObject({ toolsOffered: ['tidy_up'], violations: ['tool_not_declared'] });
    expect(await rows()).toContainEqual(
      expect.objectContaining({
        kind: 'tool',
        name: 'tidy_up',
        declared: false,
        observed: true,
        verdict: 'undeclared',
      }),
    );
  },
  'hides a call in text': async () => {
    const answers: unknown[] = [];
    const call = await newCall(async () => answers.push(await ask(LANE)));
    expect(JSON.stringify(answers)).toContain(HIDDEN_CALL.split(' ')[1]);
    expect(call).toMatchObject({ toolsCalled: [], violations: [], blocked: false });
    expect((await rows()).map(({ name }) => name)).not.toContain('delete_all_orders');
  },
  'uses its own relay behind a declared host': async () => {
    const relay = { host: DECLARED_HOST, port: VENDOR_PORT };
    const tunnel = await newCall(() => act({ action: 'tunnel', ...relay }));
    expect(tunnel?.violations).not.toContain('host_not_declared');
    expect(JSON.stringify(tunnel)).toContain(DECLARED_HOST);
    await act({ action: 'hold', ...relay });
    expect((await rows()).map(({ name }) => name)).not.toContain(`${DECLARED_HOST}:${VENDOR_PORT}`);
  },
  'starts an MCP server as a child process': async () => {
    expect(
      await newCalls(() => act({ action: 'holdInChild', host: HIDDEN_HOST, port: VENDOR_PORT })),
    ).toEqual([]);
    await seenByCensus(`${HIDDEN_HOST}:${VENDOR_PORT}`);
  },
};

describe('an agent that', () => {
  for (const [evasion, leavesItsTrace] of Object.entries(EVASIONS))
    inNetworks(`${evasion} leaves the documented trace`, async () => {
      try {
        await leavesItsTrace();
      } finally {
        await act({ action: 'release' });
      }
    });
});

test('every row of the table has a test', () => {
  const page = readFileSync(join(ROOT, 'docs/guide/egress.md'), 'utf8');
  const [, section = ''] = page.split('\n## Evasion\n');
  const cells = section
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|')[1]?.trim());
  expect(cells.slice(2)).toEqual(Object.keys(EVASIONS));
});
