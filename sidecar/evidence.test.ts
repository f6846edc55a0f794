import { createServer } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { EvidenceReport } from '../core/shapes/evidence.ts';
import type { GapReport } from '../core/shapes/gap.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import { ManualClock } from '../testing/time/manual-clock.ts';
import {
  manifestText,
  startSidecarRig,
  type SidecarRig,
  type SidecarRigOptions,
} from '../testing/sidecar/sidecar-rig.ts';

type Gap = GapReport & { evidence: EvidenceReport };

let rig: SidecarRig;
afterEach(async () => {
  await rig.close();
});

const SPEC = {
  tools: [{ name: 'search' }],
  guardrails: { input: [{ type: 'pii-detector', action: 'scrub' }] },
};

async function start(spec: object, options: Partial<SidecarRigOptions> = {}): Promise<void> {
  rig = await startSidecarRig({
    agent: { '/health': 200, '/capabilities': { tools: ['search'] } },
    ...options,
    manifest: manifestText({ ...SPEC, ...spec }),
  });
}

/** Sends a chat request; the agent responds with these headers and this model name. */
async function chat(headers: Record<string, string>, model = 'gpt-5'): Promise<void> {
  rig.agent.otherwise = ({ method }, response) => {
    if (method === 'GET') {
      response.writeHead(404).end();
      return;
    }
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ model, choices: [{ message: { content: 'x' } }], usage }));
  };
  const response = await fetch(`${rig.proxyUrl}/v1/chat/completions`, { method: 'POST', body: '{}' });
  await response.text();
  await rig.settled();
}

const tiers = ({ evidence }: Gap): string[] => evidence.items.map(({ kind, tier }) => `${kind} ${tier}`);

describe('/gap', () => {
  test('contains evidence next to the fields of the contract', async () => {
    await start({});
    const gap = await rig.report<Gap>('/gap');
    expect(Object.keys(gap)).toEqual([
      'compliant',
      'score',
      'grade',
      'source',
      'issues',
      'evidence',
      'llm',
      'census',
    ]);
    expect([gap.score, gap.grade]).toEqual([100, 'A']);
    expect(gap).toMatchObject({ compliant: { status: 'Unknown', reason: 'NotShown' } });
    expect(gap.evidence).toEqual({
      shown: 0,
      declared: 3,
      reported: 0,
      items: [
        { kind: 'model', name: 'gpt-5', tier: 'none' },
        { kind: 'tool', name: 'search', tier: 'none' },
        { kind: 'guardrail', name: 'input.pii-detector', tier: 'none' },
      ],
    });
    expect(await rig.report('/gap?view=alignment')).not.toHaveProperty('evidence');
  });

  test('contains the tiers of evidence from traffic and from the agent', async () => {
    await start({});
    await chat({ 'x-platform-guardrails-invoked': 'pii-detector', 'x-platform-tools-called': 'search' });
    const gap = await rig.report<Gap>('/gap');
    expect(tiers(gap)).toEqual(['model observed', 'tool reported', 'guardrail reported']);
    expect([gap.evidence.shown, gap.evidence.reported]).toEqual([2, 2]);
  });

  test('contains no evidence from the agent for a service whose probe fails', async () => {
    const server = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port: open } = server.address() as { port: number };
    const [closed = 0] = await freePorts(1);
    const services = [
      { name: 'there', address: `127.0.0.1:${open}` },
      { name: 'gone', address: `127.0.0.1:${closed}` },
    ];
    await start({ requires: { services } });
    const passed = (id: string) => ({ id, category: 'service', status: 'pass', severity: 'info' });
    rig.agent.responses['/platform/health'] = {
      agentName: 'shop',
      timestamp: new Date().toISOString(),
      status: 'healthy',
      summary: { passed: 2, failed: 0, warnings: 0, skipped: 0 },
      checks: [passed('service:there'), passed('service:gone'), passed('model:openai/gpt-5')],
    };
    const { evidence } = await rig.report<Gap>('/gap');
    expect(evidence.items.filter(({ kind }) => kind === 'service')).toMatchObject([
      { name: 'there', tier: 'probed' },
      { name: 'gone', tier: 'none', contradictedBy: 'sidecar probe: connection refused' },
    ]);
    await new Promise((resolve) => server.close(resolve));
  });

  test('keeps evidence for 24 hours, even after the ring has overwritten the entry', async () => {
    const clock = new ManualClock('2026-03-01T12:00:00.000Z');
    await start({}, { clock, env: { AUDIT_RING_SIZE: '1' } });
    await chat({ 'x-platform-guardrails-invoked': 'pii-detector' });
    clock.advance(24 * 3_600_000 - 1);
    await chat({}, 'unknown');
    const guardrail = async () =>
      (await rig.report<Gap>('/gap')).evidence.items.find(({ kind }) => kind === 'guardrail');
    expect(await guardrail()).toMatchObject({ tier: 'reported', lastSeen: '2026-03-01T12:00:00.000Z' });
    clock.advance(1);
    expect(await guardrail()).toMatchObject({ tier: 'none' });
  });

  test('has an issue and a failed check when half of its responses are server errors', async () => {
    await start({});
    rig.agent.otherwise = (_request, response) => void response.writeHead(500).end();
    const state = async () => {
      const { issues } = await rig.report<Gap>('/gap');
      const { checks } = await rig.report<{ checks: { id: string }[] }>('/health/ready');
      const isFailing = checks.some(({ id }) => id === 'agent:serving');
      return [isFailing, issues.some(({ property }) => property === 'serving.errors')];
    };
    for (let count = 0; count < 3; count++) await fetch(`${rig.proxyUrl}/chat`, { method: 'POST' });
    await rig.settled();
    expect(await state()).toEqual([false, false]);
    await fetch(`${rig.proxyUrl}/chat`, { method: 'POST' });
    await rig.settled();
    expect(await state()).toEqual([true, true]);
  });

  test('contains a proof as evidence for the evaluation', async () => {
    await start({ evaluation: { datasets: [{ name: 'smoke', path: 'smoke.jsonl' }] } });
    const body = JSON.stringify({ verifiedBy: 'ci', method: 'ran' });
    const headers = { 'content-type': 'application/json' };
    await rig.control('/proof/rule/EVAL-01', { method: 'POST', headers, body });
    const { evidence } = await rig.report<Gap>('/gap');
    expect(evidence.items[0]).toMatchObject({ tier: 'proved', shownBy: 'local proof of EVAL-01' });
    expect(evidence).toMatchObject({ shown: 1, shownWithoutLocalProofs: 0 });
  });

  test('contains an issue after 100 requests without behavioral data when guardrails are declared', async () => {
    await start({});
    const properties = async () =>
      (await rig.report<Gap>('/gap')).issues.map(({ property, severity }) => `${severity} ${property}`);
    for (let count = 0; count < 99; count++) await chat({});
    expect(await properties()).toEqual([]);
    await chat({});
    expect(await properties()).toEqual(['low guardrails.unreported']);
    await chat({ 'x-platform-guardrails-invoked': 'pii-detector' });
    expect(await properties()).toEqual([]);
  });
});
