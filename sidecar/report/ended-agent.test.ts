import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { MatrixReport } from '../../core/shapes/explore.ts';
import type { GapReport } from '../../core/shapes/gap.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { post, startTlsVendor, type TlsVendor } from '../../testing/sidecar/egress-rig.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { ask } from '../../testing/sidecar/proxy-rig.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';

const LANE = '/openai/v1/chat/completions';
const question = { model: 'gpt-5', messages: [] };
const toolCall = (name: string) => ({ id: name, type: 'function', function: { name, arguments: '{}' } });
const modelResponse = {
  ...{ object: 'chat.completion', model: 'gpt-5', usage: { prompt_tokens: 3, completion_tokens: 4 } },
  choices: [{ index: 0, finish_reason: 'tool_calls', message: { tool_calls: [toolCall('drop_orders')] } }],
};

let vendor: TlsVendor;
let folder: string;
let lanePort: number;
let clock: ManualClock;
let rig: SidecarRig;

beforeEach(async () => {
  vendor = await startTlsVendor();
  vendor.respond = (_seen, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(modelResponse));
  folder = mkdtempSync(join(tmpdir(), 'ended-'));
  writeFileSync(join(folder, 'ca.pem'), vendor.ca.cert);
  [lanePort = 0] = await freePorts(1);
  clock = new ManualClock('2026-03-01T10:00:00.000Z');
  rig = await startSidecarRig({
    clock,
    manifest: manifestText({
      guardrails: { input: [{ type: 'pii-detector' }] },
      tools: [{ name: 'search' }],
    }),
    agent: { '/health': 200, '/capabilities': 200 },
    env: {
      ...{ OPENAI_API_KEY: 'k', POLICY_ENGINE: 'builtin' },
      ...{ EGRESS_LANES: `openai=${vendor.url}/v1`, EGRESS_PORT: String(lanePort) },
      EGRESS_CA_FILE: join(folder, 'ca.pem'),
    },
  });
});
afterEach(async () => {
  await rig.close();
  await vendor.close();
  rmSync(folder, { recursive: true });
});

const gap = (query = ''): Promise<GapReport> => rig.report<GapReport>(`/gap${query}`);
const properties = ({ issues }: GapReport): string[] => issues.map(({ property }) => property);
const matrix = async (): Promise<MatrixReport['rows']> =>
  (await rig.report<MatrixReport>('/explore?view=matrix&agent=ended')).rows;

describe('after the end of the agent', () => {
  test('gap and matrix have its last call, and its endpoints as they last responded', async () => {
    const before = await gap();
    await post(lanePort, LANE, question);
    await rig.agent.stop();
    const after = await gap('?agent=ended');
    expect(properties(after).sort()).toEqual([...properties(before), 'tools.undeclared.drop_orders'].sort());
    expect(await matrix()).toContainEqual(
      expect.objectContaining({ kind: 'tool', name: 'drop_orders', verdict: 'undeclared' }),
    );
  });

  test('probes to which the ending agent no longer responded do not count', async () => {
    const before = await gap();
    rig.agent.responses = { '/health': 200 };
    rig.agent.otherwise = (request) => void request.socket.destroy();
    expect(properties(await gap())).not.toEqual(properties(before));
    await rig.agent.stop();
    expect(properties(await gap('?agent=ended'))).toEqual(properties(before));
  });

  test('a denial in its last request is an issue', async () => {
    const before = await gap();
    rig.agent.otherwise = (_request, response) =>
      void response.writeHead(200, { 'x-platform-tools-called': 'drop_orders' }).end();
    await ask(rig.sidecar.proxyPort, { path: '/chat' });
    await rig.settled();
    await rig.agent.stop();
    const found = properties(await gap('?agent=ended'));
    expect(found.filter((property) => !properties(before).includes(property))).toEqual([
      'guardrails.input.pii-detector',
      'policy.pii_detector_not_invoked',
      'tools.undeclared.drop_orders',
    ]);
  });

  describe('a client is still connected to a lane', () => {
    /** Sends a call without a response. Resolves with its client, the report that waits for it, and the limit of the wait. */
    async function waiting() {
      await gap();
      const arrived = new Promise<void>((resolve) => (vendor.respond = () => resolve()));
      const client = connect(lanePort, '127.0.0.1');
      const body = JSON.stringify({
        ...question,
        tools: [{ type: 'function', function: { name: 'drop_orders' } }],
      });
      const head = `host: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
      client.write(`POST ${LANE} HTTP/1.1\r\n${head}\r\n\r\n${body}`);
      await arrived;
      await rig.agent.stop();
      const rows = matrix();
      return { client, rows, limit: await clock.nextSleep() };
    }
    const dropOrders = expect.objectContaining({ name: 'drop_orders', verdict: 'undeclared' });

    test('the report has its call, and is computed as soon as it disconnects', async () => {
      const { client, rows } = await waiting();
      client.destroy();
      expect(await rows).toContainEqual(dropOrders);
    });

    test('the report does not wait for more than a second', async () => {
      const { client, rows, limit } = await waiting();
      expect(limit.ms).toBe(1_000);
      limit.wake();
      expect(await rows).not.toContainEqual(dropOrders);
      client.destroy();
    });
  });

  test('an agent that never listened has no issue about an endpoint', async () => {
    await rig.agent.stop();
    const endpoints = ['healthcheckable', 'discoverable'];
    expect(properties(await gap())).toEqual(expect.arrayContaining(endpoints));
    const ended = await gap('?agent=ended');
    expect(ended).toMatchObject({ listened: false });
    expect(properties(ended)).not.toEqual(expect.arrayContaining(['healthcheckable']));
    expect(properties(ended)).not.toEqual(expect.arrayContaining(['discoverable']));
  });

  test('an agent that was never probed is probed', async () => {
    expect(await gap('?agent=ended')).toEqual({ ...(await gap()), listened: true });
  });

  test.each(['/gap', '/explore'])('another value of the parameter is rejected by %s', async (path) => {
    expect((await rig.control(`${path}?agent=alive`)).status).toBe(400);
  });
});

test('a report has what the agent did during its probes', async () => {
  let isCalled = false;
  delete rig.agent.responses['/health'];
  rig.agent.otherwise = (request, response) => {
    if (request.url !== '/health')
      return void response.writeHead(200, { 'x-platform-guardrails-invoked': '' }).end();
    isCalled = true;
    void ask(rig.sidecar.proxyPort, { path: '/chat' })
      .then(() => rig.settled())
      .then(() => response.end());
  };
  expect(properties(await gap())).toContain('guardrails.input.pii-detector');
  expect(isCalled).toBe(true);
});
