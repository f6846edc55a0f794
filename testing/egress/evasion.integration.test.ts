// Each evasion of evasions.ts leaves the trace that its row has, or none where it is invisible: an agent in a network of its own
// avoids a real sidecar with lanes, census and CONNECT.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { EgressCall } from '../../core/shapes/egress-call.ts';
import type { MatrixReport } from '../../core/shapes/explore.ts';
import type { MatrixRow } from '../../core/shapes/egress.ts';
import type { GapReport, Issue } from '../../core/shapes/gap.ts';
import type { Action, Peer } from '../processes/evasive-agent.ts';
import { EVASIONS } from './evasions.ts';
import { ENDING_PORT, HIDDEN_CALL, OWN_PORTS, PAST_MODEL, VENDOR_PORT } from './outside-ports.ts';
import {
  DECLARED_HOST,
  HIDDEN_HOST,
  LANE_HOST,
  openTwoNetworks,
  whyNoNetworks,
  type TwoNetworks,
} from './two-networks.ts';
import { until } from '../time/until.ts';

const ROOT = join(import.meta.dirname, '../..');
const missing = whyNoNetworks();
if (missing !== undefined) process.stderr.write(`SKIPPED: evasions of the egress lanes: ${missing}\n`);
const inNetworks = missing === undefined ? test : test.skip;

const MANIFEST = JSON.stringify({
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'Sells things.' },
  spec: {
    model: {
      ...{ provider: 'openai', id: 'gpt-4o-mini', apiKey: '$env:OPENAI_API_KEY' },
      fallback: { provider: 'groq', id: PAST_MODEL, apiKey: '$env:OPENAI_API_KEY' },
    },
    tools: [{ name: 'search' }],
    egress: { hosts: [DECLARED_HOST] },
    api: { type: 'rest', chatEndpoint: { path: '/v1/chat' } },
  },
});

const CONTROL = 'http://127.0.0.1:4001';
const LANE = 'http://127.0.0.1:4002/openai/v1/chat/completions';
const QUESTION = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };

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
    EGRESS_LANES: [
      `openai=http://${DECLARED_HOST}:${VENDOR_PORT}`,
      `groq=http://${LANE_HOST}:${VENDOR_PORT}`,
      `mistral=http://${LANE_HOST}:${OWN_PORTS[0]}`,
    ].join(','),
    ...{ EGRESS_CONNECT: 'log', CENSUS: 'on' },
  });
  sidecar.stdout!.resume();
  await until(async () => (await get('/readyz')).status === 200, 'the sidecar');
  for (const attack of attacksOnCensus) await attack();
  await act({ action: 'hold', ...LATER });
});

afterAll(async () => {
  if (missing !== undefined) return;
  await networks.close();
  await rm(folder, { recursive: true });
});

interface Received {
  status?: number;
  text?: string;
}
const get = async (path: string): Promise<Received> =>
  (await act({ action: 'fetch', url: CONTROL + path })) as Received;
const json = async <T>(path: string): Promise<T> => JSON.parse((await get(path)).text ?? 'null') as T;
const rows = async (): Promise<MatrixRow[]> => (await json<MatrixReport>('/explore?view=matrix')).rows;
const issue = async (property: string): Promise<Issue | undefined> =>
  (await json<GapReport>('/gap')).issues.find((each) => each.property === property);
const calls = (): Promise<EgressCall[]> => json('/egress');
const ask = (url: string, body: object = {}) => act({ action: 'fetch', url, body: { ...QUESTION, ...body } });
const unexplained = async (): Promise<number> =>
  Number(/^platform_sidecar_unexplained_opens (\d+)$/m.exec((await get('/metrics')).text ?? '')?.[1] ?? NaN);

/** The census has this undeclared address. */
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

const PAST = { host: LANE_HOST, port: VENDOR_PORT };
const HIDDEN = { host: HIDDEN_HOST, port: VENDOR_PORT };
const RELAY = { host: DECLARED_HOST, port: VENDOR_PORT };
const SHORT = { action: 'short', host: HIDDEN_HOST, port: ENDING_PORT, count: 200 } as const;
/** Undeclared, like the peers of newPeer(). */
const UDP = { action: 'holdUdp', host: HIDDEN_HOST, port: 443, isConnected: true } as const;
const UNCONNECTED = { ...UDP, port: 444, isConnected: false } as const;
const RENAMED = { tools: [{ type: 'function', function: { name: 'tidy_up', parameters: {} } }] };
const MARKER = { tools: [{ type: 'function', function: { name: 'search', parameters: {} } }] };

const ports = OWN_PORTS.values();
/** An undeclared address that no other test uses. */
function newPeer(): Peer {
  const { value: port } = ports.next();
  if (port === undefined) throw new Error('OWN_PORTS has too few ports');
  return { host: HIDDEN_HOST, port };
}
/** Of a connection that is opened after all attacks on the census. */
const LATER = newPeer();
const nameOf = ({ host, port }: Peer): string => `${host}:${port}`;
const chat = (peer: Peer): string => `http://${nameOf(peer)}/v1/chat/completions`;

const after = async (id: number): Promise<EgressCall[]> => (await calls()).filter((call) => call.id > id);

/** All calls that an action adds to the log, also none: the log is complete when it has a later call. */
async function newCalls(action: () => Promise<unknown>): Promise<EgressCall[]> {
  const last = (await calls()).at(-1)?.id ?? 0;
  await action();
  await ask(LANE, MARKER);
  const isMarker = ({ toolsOffered }: EgressCall): boolean => toolsOffered.includes('search');
  await until(async () => (await after(last)).some(isMarker), 'the later call in the log');
  return (await after(last)).filter((call) => !isMarker(call));
}

/** The call that an action adds to the log. */
async function newCall(action: () => Promise<unknown>): Promise<EgressCall | undefined> {
  const last = (await calls()).at(-1)?.id ?? 0;
  await action();
  await until(async () => (await after(last)).length > 0, 'a call in the log');
  return (await after(last))[0];
}

type Attack = () => Promise<unknown>;
type Test = () => Promise<void>;

/** Of the tests of the census, opened together: the census waits up to a minute between findings. */
const attacksOnCensus: Attack[] = [];

/** The attack connects to the peer, and the census lists it. */
function listed(attack: (peer: Peer) => Promise<unknown>, peer = newPeer()): Test {
  attacksOnCensus.push(() => attack(peer));
  return () => seenByCensus(nameOf(peer));
}

/** The attack uses the peer, and the census does not list it, although it lists a later connection. */
function unlisted(attack: Attack, peer: Peer): Test {
  attacksOnCensus.push(attack);
  return async () => {
    await seenByCensus(nameOf(LATER));
    expect((await rows()).map(({ name }) => name)).not.toContain(nameOf(peer));
  };
}

/** The census lists the connection with its lane. */
function listedPast(): Test {
  attacksOnCensus.push(() => act({ action: 'hold', ...PAST }));
  return async () => {
    const name = `${nameOf(PAST)} past lane groq`;
    await until(async () => (await rows()).some((row) => row.name === name), `${name} in the census`);
    expect(await rows()).toContainEqual({
      ...{ kind: 'host', name, declared: false, reported: null, observed: true, verdict: 'undeclared' },
    });
    expect((await issue('egress.unseen'))?.description).toContain(`${nameOf(PAST)} (past lane groq)`);
  };
}

/** No lane has a call of the attack. */
const notOnLane =
  (attack: Attack): Test =>
  async () =>
    expect((await newCalls(attack)).filter(({ lane }) => lane !== 'connect')).toEqual([]);

/** The attack opens no tunnel. */
const notInTunnel =
  (attack: Attack): Test =>
  async () =>
    expect((await newCalls(attack)).filter(({ lane }) => lane === 'connect')).toEqual([]);

/** The attack opens a tunnel, which shows the undeclared host. */
const inTunnel =
  (attack: Attack): Test =>
  async () =>
    expect(await newCall(attack)).toMatchObject({
      method: 'CONNECT',
      path: nameOf(HIDDEN),
      violations: ['host_not_declared'],
    });

/** By the names in EVASIONS. */
const TESTS: Readonly<Record<string, Test>> = {
  'census-own-url': listed((peer) => act({ action: 'hold', ...peer })),
  'census-past-lane': listedPast(),
  'census-library': listed((peer) => ask(chat(peer))),
  'census-no-proxy': listed((peer) => act({ action: 'hold', ...peer })),
  'census-short': async () => {
    const before = await unexplained();
    await act(SHORT);
    await until(async () => (await unexplained()) > before, 'unexplained opens');
  },
  'census-udp': listed(() => act(UDP), UDP),
  'census-unconnected': unlisted(() => act(UNCONNECTED), UNCONNECTED),
  'census-renamed': unlisted(() => ask(LANE, RENAMED), RELAY),
  'census-text': unlisted(() => ask(LANE), RELAY),
  'census-relay': unlisted(() => act({ action: 'hold', ...RELAY }), RELAY),
  'census-child': listed((peer) => act({ action: 'holdInChild', ...peer })),

  'lanes-own-url': async () => {
    await act({ action: 'fetch', url: 'http://127.0.0.1:4000/v1/chat', body: { message: 'hi' } });
    await until(
      async () => (await rows()).some(({ kind, verdict }) => kind === 'tokens' && verdict === 'misreported'),
      'misreported tokens',
    );
  },
  'lanes-past-lane': async () => {
    const [unused, url] = ['egress.lane-unused.groq', 'http://127.0.0.1:4000/v1/past'];
    for (let index = 0; index < 3; index++) {
      expect(await issue(unused)).toBeUndefined();
      await act({ action: 'fetch', url, body: { message: 'hi' } });
    }
    await until(async () => (await issue(unused)) !== undefined, 'the unused lane in the report');
    expect(await issue(unused)).toMatchObject({ severity: 'medium' });
    const lane = LANE.replace('openai', 'groq/openai');
    expect(await newCall(() => ask(lane, { model: PAST_MODEL }))).toMatchObject({
      lane: 'groq',
      statusCode: 200,
    });
    expect(await issue(unused)).toBeUndefined();
  },
  'lanes-library': notOnLane(() => ask(chat(HIDDEN))),
  'lanes-no-proxy': notOnLane(() => act({ action: 'hold', ...HIDDEN })),
  'lanes-short': notOnLane(() => act(SHORT)),
  'lanes-udp': notOnLane(() => act(UDP)),
  'lanes-renamed': async () => {
    const call = await newCall(() => ask(LANE, RENAMED));
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
  'lanes-text': async () => {
    const responses: unknown[] = [];
    const call = await newCall(async () => responses.push(await ask(LANE)));
    expect(JSON.stringify(responses)).toContain(HIDDEN_CALL.split(' ')[1]);
    expect(call).toMatchObject({ toolsCalled: [], violations: [], blocked: false });
    expect((await rows()).map(({ name }) => name)).not.toContain('delete_all_orders');
  },
  'lanes-relay': notOnLane(() => act({ action: 'tunnel', ...RELAY })),
  'lanes-child': notOnLane(() => act({ action: 'holdInChild', ...HIDDEN })),

  'connect-own-url': inTunnel(() => act({ action: 'tunnel', ...HIDDEN })),
  'connect-past-lane': notInTunnel(() => act({ action: 'hold', ...PAST })),
  'connect-library': inTunnel(() => act({ action: 'tunnel', ...HIDDEN })),
  'connect-no-proxy': notInTunnel(() => act({ action: 'hold', ...HIDDEN })),
  'connect-short': notInTunnel(() => act(SHORT)),
  'connect-udp': notInTunnel(() => act(UDP)),
  'connect-renamed': notInTunnel(() => ask(LANE, RENAMED)),
  'connect-text': notInTunnel(() => ask(LANE)),
  'connect-relay': async () => {
    const tunnel = await newCall(() => act({ action: 'tunnel', ...RELAY }));
    expect(tunnel?.violations).not.toContain('host_not_declared');
    expect(tunnel?.path).toBe(nameOf(RELAY));
  },
  'connect-child': async () => {
    await notInTunnel(() => act({ action: 'holdInChild', ...HIDDEN }))();
    await inTunnel(() => act({ action: 'fetchInChild', ...HIDDEN }))();
  },
};

const HONEST = {
  action: 'leave',
  url: LANE.replace('openai', 'mistral'),
  body: QUESTION,
  count: 200,
} as const;
const isUnseen = unlisted(() => act(HONEST), { host: LANE_HOST, port: OWN_PORTS[0] });

const TESTED = EVASIONS.flatMap((row) => (typeof row.test === 'string' ? [{ ...row, test: row.test }] : []));

describe('evasion', () => {
  for (const { attack, shows, test: name } of TESTED)
    inNetworks(`${name}: ${attack}: ${shows ?? 'invisible'}`, async () => await TESTS[name]?.());
});

inNetworks('calls through a lane, also those that the agent leaves, bypass no lane', async () => {
  await isUnseen();
  expect((await rows()).map(({ name }) => name)).not.toContain(
    `${LANE_HOST}:${OWN_PORTS[0]} past lane mistral`,
  );
  const used = /^platform_sidecar_egress_calls_total\{lane="mistral",outcome="allow"\} (\d+)$/m;
  expect(Number(used.exec((await get('/metrics')).text ?? '')?.[1])).toBeGreaterThan(200);
});

test('every row has a test, and every test a row', () => {
  expect(TESTED.map(({ test: name }) => name).toSorted()).toEqual(Object.keys(TESTS).toSorted());
});
