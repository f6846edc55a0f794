import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { GapReport } from '../../core/shapes/gap.ts';
import type { ReadyReport } from '../../core/shapes/sidecar-reports.ts';
import { ProcessRig } from '../../testing/machine/process-rig.ts';
import { freePorts } from '../demo/free-ports.ts';

/** The example agent and the sidecar as processes: issues are reported, and disappear after the fix. */

let rig: ProcessRig;
let agentPort: number;
let manifestPath: string;
let controlUrl: string;

beforeEach(async () => {
  rig = await ProcessRig.open();
  [agentPort = 0] = await freePorts(1);
});
afterEach(() => rig.close());

const GUARDRAILS = { input: [{ type: 'pii-detector', action: 'scrub' }] };
const KEY = { OPENAI_API_KEY: 'any' };

/** Writes the manifest; a running sidecar reloads it automatically. */
async function declare(spec: object): Promise<void> {
  const model = { provider: 'openai', id: 'gpt-4o-mini', apiKey: '$env:OPENAI_API_KEY' };
  manifestPath = await rig.file(
    'agent.yaml',
    JSON.stringify({
      apiVersion: 'platform.io/v1',
      kind: 'PlatformAgent',
      metadata: { name: 'shop', version: '1.0.0', description: 'Sells things' },
      spec: { model, ...spec },
    }),
  );
}

async function startSidecar(env: Record<string, string> = {}): Promise<void> {
  ({ controlUrl } = await rig.startSidecar(agentPort, manifestPath, env));
}

interface Seen {
  score: number;
  grade: string;
  source: string;
  ready: string;
  code: number;
  issues: string[];
}

async function seen(): Promise<Seen> {
  const gap = (await (await fetch(`${controlUrl}/gap`)).json()) as GapReport;
  const response = await fetch(`${controlUrl}/health/ready`);
  const { status } = (await response.json()) as ReadyReport;
  return {
    score: gap.score,
    grade: gap.grade,
    source: gap.source,
    ready: status,
    code: response.status,
    issues: gap.issues.map(({ severity, property }) => `${severity} ${property}`).sort(),
  };
}

/** Polls the sidecar until it reports this, because it detects changed files and reports with a delay. */
async function expectSeen(expected: Partial<Seen>): Promise<void> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const found = await seen();
    try {
      expect(found).toMatchObject(expected);
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(100);
    }
  }
}

const GOOD = { score: 100, grade: 'A', ready: 'ready', code: 200, issues: [] };

async function failedChecks(): Promise<string[]> {
  const { checks } = (await (await fetch(`${controlUrl}/health/ready`)).json()) as ReadyReport;
  return checks.flatMap(({ id, status }) => (status === 'fail' ? [id] : [])).sort();
}

async function submitEvaluation(): Promise<void> {
  const response = await fetch(`${controlUrl}/proof/rule/EVAL-01`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ verifiedBy: 'ci', method: 'pass_rate 0.95 on smoke' }),
  });
  expect(response.status).toBe(201);
}

test('an agent that complies with its manifest has 100 A', async () => {
  manifestPath = new URL('compliant/agent.yaml', import.meta.url).pathname;
  await rig.startAgent(agentPort, manifestPath, KEY);
  await startSidecar();
  await expectSeen({ ...GOOD, source: 'agent-sdk' });
});

describe('a dead agent with a dataset and a dead service', () => {
  let service: Server | null = null;
  afterEach(() => void service?.close());

  test('has 55 D and is degraded until agent, service, evaluation and guardrails are fixed', async () => {
    const [servicePort = 0] = await freePorts(1);
    const declared = {
      requires: { services: [{ name: 'orders', address: `127.0.0.1:${servicePort}` }] },
      evaluation: { datasets: [{ name: 'smoke', path: 'smoke.jsonl' }] },
    };
    await declare(declared);
    await startSidecar(KEY);
    expect(await failedChecks()).toEqual(['agent:upstream', 'service:orders']);
    await expectSeen({
      score: 55,
      grade: 'D',
      source: 'manifest-static',
      ready: 'degraded',
      code: 200,
      issues: ['high healthcheckable', 'low evaluated', 'medium auditable', 'medium discoverable'],
    });
    service = createServer((socket) => socket.end()).listen(servicePort, '127.0.0.1');
    await once(service, 'listening');
    expect(await failedChecks()).toEqual(['agent:upstream']);
    await rig.startAgent(agentPort, manifestPath, KEY);
    await expectSeen({
      score: 85,
      source: 'agent-sdk',
      ready: 'ready',
      issues: ['low evaluated', 'medium auditable'],
    });
    await submitEvaluation();
    await expectSeen({ score: 90, grade: 'A', issues: ['medium auditable'] });
    await declare({ ...declared, guardrails: GUARDRAILS });
    await expectSeen(GOOD);
  });
});

test('an agent whose key is not set has 60 C and is not ready, until it is set', async () => {
  await declare({ guardrails: GUARDRAILS });
  const keyless = await rig.startAgent(agentPort, manifestPath);
  await startSidecar();
  await expectSeen({
    score: 60,
    grade: 'C',
    source: 'agent-sdk',
    ready: 'not-ready',
    code: 503,
    issues: ['high env:OPENAI_API_KEY', 'high model.apiKey'],
  });
  await keyless.stop();
  await rig.startAgent(agentPort, manifestPath, KEY);
  await expectSeen({ ...GOOD, source: 'agent-sdk' });
});

test('a broken agent has 20 F with exactly five issues, and each disappears with its cause', async () => {
  const broken = {
    requires: { envVars: ['ORDERS_TOKEN'] },
    tools: [{ name: 'search' }, { name: 'pay' }],
  };
  const [deadPort = 0] = await freePorts(1);
  const deadModel = { OPENAI_BASE_URL: `http://127.0.0.1:${deadPort}/v1` };
  const faults = { AGENT_FAULTS: 'claims-tools' };
  const token = { ORDERS_TOKEN: 'any' };
  await declare(broken);
  // Its model URL is not reachable.
  let agent = await rig.startAgent(agentPort, manifestPath, { ...KEY, ...faults, ...deadModel });
  const restart = async (env: Record<string, string>): Promise<void> => {
    await agent.stop();
    agent = await rig.startAgent(agentPort, manifestPath, env);
  };
  await startSidecar();
  await expectSeen({
    score: 20,
    grade: 'F',
    source: 'agent-sdk',
    ready: 'not-ready',
    code: 503,
    issues: [
      'critical model.apiKey',
      'high env:ORDERS_TOKEN',
      'medium auditable',
      'medium tool:pay',
      'medium tool:search',
    ],
  });
  await restart({ ...KEY, ...faults, ...token, ...deadModel });
  await expectSeen({ score: 40, ready: 'not-ready' });
  await restart({ ...KEY, ...faults, ...token });
  await expectSeen({
    score: 70,
    ready: 'ready',
    issues: ['medium auditable', 'medium tool:pay', 'medium tool:search'],
  });
  await declare({ ...broken, tools: [{ name: 'calculator' }, { name: 'lookup_order' }] });
  await restart({ ...KEY, ...token });
  await expectSeen({ score: 90, issues: ['medium auditable'] });
  await declare({ ...broken, tools: [{ name: 'calculator' }], guardrails: GUARDRAILS });
  await expectSeen(GOOD);
});
