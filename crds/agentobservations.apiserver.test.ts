import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { AGENT_REF } from '../core/shapes/agent-ref.ts';
import type { AgentObservation } from '../core/observation/observation.ts';
import { expectOk } from '../kube/objects.ts';
import { AGENT_OBSERVATIONS } from '../kube/resources.ts';
import { ServedCrd } from '../testing/cluster/served-crd.ts';

const sidecar = (name: string, spec: object = {}) => ({
  apiVersion: 'platform.io/v1',
  kind: 'AgentObservation',
  metadata: { name },
  spec: { source: 'sidecar', agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name }, ...spec },
});

const unlisted = (_: unknown, index: number) => ({
  name: `unlisted-${index}`,
  startedAt: '2026-03-01T09:00:00Z',
  seq: 1,
  lastHeartbeat: '2026-03-01T10:00:00Z',
  intervalSeconds: 30,
  tokensToday: 7,
  costTodayUsd: 0,
  day: '2026-03-01',
});

(whyNoControlPlane() ? describe.skip : describe)('the CustomResourceDefinition in a real API server', () => {
  let crd: ServedCrd<AgentObservation>;

  beforeAll(async () => {
    crd = await ServedCrd.open(AGENT_OBSERVATIONS, 'default');
  });
  afterAll(() => crd.close());

  const create = (body: unknown) => crd.create(body);
  const patchStatus = (name: string, status: object) => crd.patchStatus(name, status);

  test('is structural', async () => {
    expect((await crd.conditions()).sort()).toEqual(['Established=True', 'NamesAccepted=True']);
  });

  test('accepts the smallest object and sets the defaults', async () => {
    const { spec, status } = expectOk(await create(sidecar('small')));
    expect(status).toEqual({ phase: 'Pending' });
    // A default interval could not be distinguished from a configured interval.
    expect(spec).not.toHaveProperty('heartbeatSeconds');
  });

  test.each<[string, object, string]>([
    [
      'a sidecar without its workload',
      sidecar('x', { agentRef: undefined }),
      'agentRef is required for source sidecar',
    ],
    ['a remote agent with a workload', sidecar('x', { source: 'remote' }), 'not allowed for source remote'],
    ['an unknown source', sidecar('x', { source: 'moon' }), 'Unsupported value: "moon"'],
    ['a too short heartbeat interval', sidecar('x', { heartbeatSeconds: 9 }), 'greater than or equal to 10'],
    ['a too long heartbeat interval', sidecar('x', { heartbeatSeconds: 3601 }), 'less than or equal to 3600'],
    ['a name that is too long', sidecar('x'.repeat(64)), 'a DNS label of at most 63 characters'],
    ['a name that is not a DNS label', sidecar('x.y'), 'a DNS label of at most 63 characters'],
    ...[
      { name: 'chat/scale' },
      { name: '..' },
      { kind: 'Deploy/ment' },
      { apiVersion: 'apps/v1/x' },
      { apiVersion: '../v1' },
    ].map((change): [string, object, string] => [
      `the workload ${JSON.stringify(change)}`,
      sidecar('x', { agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x', ...change } }),
      `spec.agentRef.${Object.keys(change)[0]}`,
    ]),
    ['no spec', { ...sidecar('x'), spec: undefined }, 'spec: Required value'],
  ])('rejects %s', async (_, body, message) => {
    expect(await create(body)).toMatchObject({
      ok: false,
      status: 422,
      message: expect.stringContaining(message),
    });
  });

  test('keeps an older object whose workload cannot exist readable, and its status writable', async () => {
    const part = 'properties/spec/properties/agentRef/properties/name/pattern';
    const setPattern = async (value: string): Promise<void> => {
      const path = `/spec/versions/0/schema/openAPIV3Schema/${part}`;
      const contentType = 'application/json-patch+json';
      const body = [{ op: 'replace', path, value }];
      expectOk(await crd.client.send({ method: 'PATCH', path: crd.definition, contentType, body }));
    };
    const agentRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat/scale' };
    await setPattern('.');
    while (!(await create(sidecar('older', { agentRef }))).ok) await delay(50);
    await setPattern(AGENT_REF.name[1].source);
    for (let count = 0; (await create(sidecar(`next-${count}`, { agentRef }))).ok; count += 1)
      await delay(50);
    expect(await patchStatus('older', { phase: 'Healthy' })).toMatchObject({ ok: true });
    expect(expectOk(await crd.client.send({ method: 'GET', path: crd.path('older') }))).toMatchObject({
      spec: { agentRef },
      status: { phase: 'Healthy' },
    });
  });

  test('rejects a change of the source', async () => {
    await create(sidecar('fixed'));
    const response = await crd.client.send({
      method: 'PATCH',
      path: crd.path('fixed'),
      contentType: 'application/merge-patch+json',
      body: { spec: { source: 'remote', agentRef: null } },
    });
    expect(response).toMatchObject({ status: 422, message: expect.stringContaining('source is immutable') });
  });

  test.each<[string, object, string]>([
    ['51 issues', { issues: Array.from({ length: 51 }, issue) }, 'must have at most 50 items'],
    ['51 instances', { instances: Array.from({ length: 51 }, instance) }, 'must have at most 50 items'],
    [
      '951 unlisted instances',
      { unlisted: Array.from({ length: 951 }, unlisted) },
      'must have at most 950 items',
    ],
    ['101 checks', { checks: Array.from({ length: 101 }, check) }, 'must have at most 100 items'],
    [
      '101 items of evidence',
      { evidence: { ...evidence(), items: Array.from({ length: 101 }, item) } },
      'must have at most 100 items',
    ],
    [
      'an item with an unknown tier',
      { evidence: { ...evidence(), items: [{ ...item(), tier: 'felt' }] } },
      'Unsupported value: "felt"',
    ],
    ['a score over 100', { score: 101 }, 'less than or equal to 100'],
    ['an unknown phase', { phase: 'Fine' }, 'Unsupported value: "Fine"'],
    ['drift with an unknown reason', { drift: [drift({ reason: 'tired' })] }, 'Unsupported value: "tired"'],
    ['drift with zero pods', { drift: [drift({ pods: 0 })] }, 'greater than or equal to 1'],
    ['drift with a duplicate reason', { drift: [drift(), drift()] }, 'Duplicate value'],
    [
      'two instances with the same name',
      { instances: [instance(null, 1), instance(null, 1)] },
      'Duplicate value',
    ],
  ])('rejects a status with %s', async (_, status, message) => {
    await create(sidecar('limits'));
    const response = await patchStatus('limits', status);
    expect(response).toMatchObject({ ok: false, status: 422, message: expect.stringContaining(message) });
  });

  test('accepts a status at its limits and prints it, including the wide columns', async () => {
    await create(sidecar('full'));
    const status = {
      phase: 'Degraded',
      grade: 'B',
      score: 84,
      tokens: 12_345_678_901,
      lastChecked: new Date(Date.now() - 14_000).toISOString(),
      model: { provider: 'openai', id: 'gpt-x' },
      violations: 2,
      policyMode: 'off',
      source: 'agent-sdk',
      instanceCount: 50,
      evidence: {
        ...{ percent: 61, shown: 5.5, declared: 9, reported: 7 },
        items: Array.from({ length: 100 }, item),
      },
      audit: { declared: 74, proved: 31, failed: ['MODEL-01'], suppressions: [suppression()] },
      worst: Array.from({ length: 5 }, worst),
      issues: Array.from({ length: 50 }, issue),
      instances: Array.from({ length: 50 }, instance),
      unlisted: Array.from({ length: 950 }, unlisted),
      unlistedCount: 950,
      checks: Array.from({ length: 100 }, check),
      conditions: [
        {
          ...{ type: 'Compliant', status: 'False', reason: 'GradeTooLow', message: 'the grade is below B' },
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    };
    expect(await patchStatus('full', status)).toMatchObject({ ok: true, body: { status } });

    const { columnDefinitions, rows } = await crd.table('full');
    const shown = columnDefinitions.map((column, index) => [
      column.name,
      rows[0]?.cells[index],
      column.priority,
    ]);
    expect(shown).toEqual([
      ['Name', 'full', 0],
      ['Phase', 'Degraded', 0],
      ['Grade', 'B', 0],
      ['Score', 84, 0],
      ['Tokens', 12_345_678_901, 0],
      ['Checked', expect.stringMatching(/^1[4-9]s$/), 0],
      ['Allowed', null, 1],
      ['Compliant', 'False', 1],
      ['Model', 'gpt-x', 1],
      ['Violations', 2, 1],
      ['Mode', 'off', 1],
      ['Source', 'agent-sdk', 1],
      ['Evidence', 61, 1],
      ['Proved', 31, 1],
      ['Instances', 50, 1],
      ['Unlisted', 950, 1],
    ]);
  });

  test('prints the grade of an agent that no longer reports as old', async () => {
    await create(sidecar('old'));
    await patchStatus('old', { phase: 'Pending', grade: 'B', oldGrade: 'B (old)', score: 84 });
    const { rows } = await crd.table('old');
    expect(rows[0]?.cells.slice(0, 4)).toEqual(['old', 'Pending', 'B (old)', 84]);
  });

  test('is described by kubectl explain and found by short name and category', async () => {
    await create(sidecar('known'));
    expect(await crd.kubectl('explain', 'ao.spec.heartbeatSeconds')).toContain('Set by users');
    expect(await crd.kubectl('explain', 'ao.status.drift')).toMatch(
      /Live pods that the current .* reason <string> -required- enum: sidecar-missing/,
    );
    for (const name of ['ao', 'platform'])
      expect(await crd.kubectl('get', name, '-o', 'name')).toContain('agentobservation.platform.io/known');
  });

  test.each(['status.phase=Unknown', 'status.grade=F', 'spec.source=remote'])(
    'selects by the field %s',
    async (fieldSelector) => {
      await create({ ...sidecar('away'), spec: { source: 'remote' } });
      await patchStatus('away', { phase: 'Unknown', grade: 'F' });
      interface List {
        items: { metadata: { name: string } }[];
      }
      const response = await crd.client.send<List>({
        method: 'GET',
        path: crd.collection,
        query: { fieldSelector },
      });
      expect(expectOk(response).items.map((item) => item.metadata.name)).toEqual(['away']);
    },
  );
});

function issue() {
  return { severity: 'low', property: 'p', description: 'd', recommendation: 'r' };
}

function worst(_: unknown, index: number) {
  const at = '2026-03-01T12:00:00.000Z';
  const criticalIssues = Array.from({ length: 10 }, (_each, number) => ({ property: `p${number}`, at }));
  return { manifestHash: `m${index}`, score: 30, grade: 'F', at, criticalIssues };
}

function evidence() {
  return { percent: 0, shown: 0, declared: 1, reported: 0 };
}

function item() {
  return { kind: 'tool', name: 't', tier: 'none' };
}

function suppression() {
  return { rule: 'SEC-LLM-10', reason: 'a vault', state: 'active' };
}

function drift(change: object = {}) {
  return { reason: 'sidecar-missing', pods: 1, example: 'pod-1', ...change };
}

function check(_: unknown, index: number) {
  return { id: `env:V${index}`, category: 'env', status: 'pass', severity: 'error' };
}

function instance(_: unknown, index: number) {
  const at = '2026-11-21T00:00:00Z';
  return {
    name: `pod-${index}`,
    startedAt: at,
    seq: 1,
    phase: 'Healthy',
    score: 100,
    lastHeartbeat: at,
    intervalSeconds: 30,
    tokensToday: 0,
    costTodayUsd: 0.5,
    day: '2026-11-21',
    violations: 0,
    criticalIssues: 0,
    deniedInWindow: 0,
    evidence: { shown: 5.5, declared: 9, reported: 7, notShown: ['tool t'] },
    audit: { declared: 74, proved: 31 },
  };
}
