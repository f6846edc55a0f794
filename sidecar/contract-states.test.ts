import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../core/shapes/audit-entry.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';

/** The contract's tables about audit entries, events and usage. The test names quote the rows of the contract. */

const PII = 'pii_detector_not_invoked';
const SPEC = { guardrails: { input: [{ type: 'pii-detector' }] } };

let rig: SidecarRig;
beforeEach(async () => {
  rig = await startSidecarRig({
    manifest: manifestText(SPEC),
    agent: { '/x': 200 },
    env: { POLICY_ENGINE: 'builtin', AUDIT_RING_SIZE: '2' },
  });
});
afterEach(() => rig.close());

const request = (requestId: string, path = '/x'): Promise<Response> =>
  fetch(rig.proxyUrl + path, { headers: { 'x-request-id': requestId } });

async function entryOf(requestId: string): Promise<AuditEntry | undefined> {
  await rig.settled();
  const entries = await rig.report<AuditEntry[]>('/audit');
  return entries.find((entry) => entry.requestId === requestId);
}

async function sendEvent(requestId: string, event: object): Promise<[number, unknown]> {
  const response = await rig.control('/events', {
    method: 'POST',
    body: JSON.stringify({ requestId, agentName: 'shop', events: [event] }),
    headers: { 'content-type': 'application/json' },
  });
  return [response.status, await response.json()];
}

const SKIPPED = { type: 'guardrail', guardrailType: 'pii-detector', invoked: false, blocked: false };

describe('Audit entry', () => {
  test('none | request through proxy | recorded | ring entry with requestId', async () => {
    expect(await entryOf('r-1')).toBeUndefined();
    await request('r-1');
    expect(await entryOf('r-1')).toMatchObject({ requestId: 'r-1', seq: 1, path: '/x' });
  });

  test('recorded | header reporting on the response | at least one behavioral header | violations stored in the entry', async () => {
    rig.agent.otherwise = (_request, response) =>
      void response.writeHead(200, { 'X-Platform-Guardrails-Invoked': 'topic-filter' }).end();
    const response = await request('r-1', '/chat');
    expect(response.headers.get('x-platform-policy-violations')).toBe(PII);
    expect(await entryOf('r-1')).toMatchObject({ policyViolations: [PII], outcome: 'deny' });
  });

  test('recorded | POST /events with known requestId | recorded | behavioral data added; policy evaluated retroactively', async () => {
    await request('r-1');
    expect(await sendEvent('r-1', SKIPPED)).toEqual([
      200,
      { requestId: 'r-1', found: true, opaViolations: [PII] },
    ]);
    expect(await entryOf('r-1')).toMatchObject({
      guardrailsInvoked: [],
      events: [SKIPPED],
      policyViolations: [PII],
      outcome: 'notEvaluated',
    });
  });

  test('none | POST /events with unknown requestId | race | none | 202 found false', async () => {
    expect(await sendEvent('r-0', SKIPPED)).toEqual([202, { requestId: 'r-0', found: false }]);
    expect(await rig.report('/audit')).toEqual([]);
  });
});

describe('Event variants', () => {
  test.each([
    [
      'type = guardrail with guardrailType (string), invoked (boolean), blocked (boolean)',
      { type: 'guardrail', guardrailType: 'pii-detector', invoked: true, blocked: true },
      { guardrailsInvoked: ['pii-detector'] },
    ],
    [
      'type = tool with name (string), success (boolean), latencyMs (number)',
      { type: 'tool', name: 'pay', success: false, latencyMs: 1.5 },
      { toolsCalled: ['pay'] },
    ],
  ])('%s', async (_row, event, recorded) => {
    await request('r-1');
    expect((await sendEvent('r-1', event))[0]).toBe(200);
    expect(await entryOf('r-1')).toMatchObject({ events: [event], ...recorded });
  });

  test.each([
    ['guardrailType', { ...SKIPPED, guardrailType: 1 }],
    ['invoked', { ...SKIPPED, invoked: 'yes' }],
    ['blocked', { ...SKIPPED, blocked: 0 }],
    ['name', { type: 'tool', success: true, latencyMs: 1 }],
    ['success', { type: 'tool', name: 'pay', success: 'true' }],
    ['latencyMs', { type: 'tool', name: 'pay', latencyMs: '1' }],
    ['type', { type: 'wish' }],
  ])('an invalid %s is rejected with 400 and nothing is recorded', async (field, event) => {
    await request('r-1');
    const [status, body] = await sendEvent('r-1', event);
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain(field);
    expect((await entryOf('r-1'))?.events).toBeUndefined();
  });
});

describe('Limits', () => {
  test('Audit ring size (AUDIT_RING_SIZE), in memory only: the oldest entry is overwritten', async () => {
    for (const id of ['r-1', 'r-2', 'r-3']) await request(id);
    const response = await rig.control('/audit');
    expect(((await response.json()) as AuditEntry[]).map(({ requestId }) => requestId)).toEqual([
      'r-2',
      'r-3',
    ]);
    expect(response.headers.get('x-platform-audit-dropped')).toBe('1');
  });
});
