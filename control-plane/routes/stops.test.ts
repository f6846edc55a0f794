import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { StopEntry } from '../../core/shapes/agent-stop.ts';
import {
  startControlPlaneRig,
  type ControlPlaneRig,
  type RigResponse,
} from '../../testing/fleet/control-plane-rig.ts';

let rig: ControlPlaneRig;
beforeEach(async () => {
  rig = await startControlPlaneRig();
});
afterEach(() => rig.close());

const NOW = '2026-03-01T10:00:00.000Z';
const LATER = '2026-03-01T11:00:00.000Z';

const create = (body: unknown): Promise<RigResponse> => rig.admin('POST', '/stops', body);
const created = async (body: unknown): Promise<StopEntry> => (await create(body)).body as StopEntry;
const list = async (): Promise<StopEntry[]> => (await rig.admin('GET', '/stops')).body as StopEntry[];
const metric = (name: string): string | undefined =>
  new RegExp(`^platform_control_plane_${name} (.*)$`, 'm').exec(rig.metrics.render())?.[1];

describe('a stop', () => {
  test('is created with its requester, listed with the newest first, and deleted once', async () => {
    const full = { namespace: 'platform-system', agents: ['shop'], namespaces: ['prod-*'], reason: 'leak' };
    const { status, body } = await create({ ...full, until: '2026-03-01T12:00:00+01:00' });
    const first = body as StopEntry;
    expect([status, first]).toEqual([
      201,
      {
        ...{
          ...full,
          id: `platform-system/${first.name}`,
          name: expect.stringMatching(/^stop-[0-9a-f-]{13}$/),
        },
        ...{ until: LATER, by: 'admin-key', since: NOW, stored: true },
      },
    ]);
    rig.clock.advance(1_000);
    const second = await created({ namespace: 'team', reason: 'rehearsal' });
    expect(await list()).toEqual([second, first]);
    expect(metric('stops')).toBe('2');
    const path = `/stops/platform-system/${first.name}`;
    expect((await rig.admin('DELETE', path)).status).toBe(204);
    expect(await rig.admin('DELETE', path)).toMatchObject({
      status: 404,
      body: { detail: `stop platform-system/${first.name} not found` },
    });
    expect(await list()).toEqual([second]);
  });

  test('without a namespace is in the namespace of the release', async () => {
    expect(await created({ reason: 'all' })).toMatchObject({ namespace: 'platform-system' });
  });

  test('that has ended is not listed', async () => {
    await create({ reason: 'short', until: LATER });
    rig.clock.advance(3_599_999);
    expect(await list()).toHaveLength(1);
    rig.clock.advance(1);
    expect([await list(), metric('stops')]).toEqual([[], '0']);
  });

  test('persists across a restart of the process', async () => {
    const stop = await created({ reason: 'all' });
    await rig.restart();
    expect(await list()).toEqual([stop]);
  });

  test('is in the log of admin actions', async () => {
    const { name } = await created({ namespace: 'team', reason: 'leak' });
    await rig.admin('DELETE', `/stops/team/${name}`);
    const { body } = await rig.admin('GET', '/admin-actions');
    expect(body).toMatchObject([
      { action: 'deleteStop', namespace: 'team', agentName: null, status: 204 },
      { action: 'createStop', namespace: 'team', agentName: null, status: 201 },
    ]);
  });
});

test.each<[string, unknown, string[]]>([
  ['no reason', {}, ['reason: must be a string']],
  ['a reason of blanks', { reason: '  ' }, ['reason: must not be empty']],
  ['a long reason', { reason: 'x'.repeat(501) }, ['reason: must have at most 500 characters']],
  [
    'namespaces of a team',
    { namespace: 'team', namespaces: ['*'], reason: 'r' },
    ['namespaces: is only allowed in the namespace platform-system'],
  ],
  ['an end in the past', { reason: 'r', until: NOW }, ['until: must be in the future']],
  [
    'a time without a zone',
    { reason: 'r', until: '2026-03-02T00:00:00' },
    ['until: must be an ISO 8601 time with a time zone'],
  ],
  ['no agent', { reason: 'r', agents: [] }, ['agents: must have at least one entry']],
  ['an invalid namespace', { namespace: '../x', reason: 'r' }, ['namespace: must be a DNS label']],
  [
    '101 patterns',
    { reason: 'r', agents: Array.from({ length: 101 }, () => 'a') },
    ['agents: must have at most 100 entries'],
  ],
  ['a list', [], [': must be an object']],
])('a stop with %s is rejected', async (_, body, expected) => {
  const response = await create(body);
  const { errors = [] } = response.body as { errors?: { path: string; message: string }[] };
  expect([response.status, errors.map(({ path, message }) => `${path}: ${message}`)]).toEqual([
    400,
    expected,
  ]);
  expect(await list()).toEqual([]);
});

test('a body above 256 KiB gets 413, and no path reaches another object', async () => {
  expect((await create({ reason: 'x'.repeat(257 * 1024) })).status).toBe(413);
  const paths = ['team/..%2Fother', 'Team/stop', `team/${'a'.repeat(254)}`, 'team/a%00b'];
  for (const path of paths) expect((await rig.admin('DELETE', `/stops/${path}`)).status).toBe(404);
});

describe('the reply to a heartbeat', () => {
  const SIDECAR = { sidecarVersion: '0.2.0' };
  const applied = (id: string) => ({ id, since: NOW, cut: 0, lanes: true });
  let apiKey: string;
  let stop: StopEntry;
  beforeEach(async () => {
    ({ apiKey } = await rig.register('shop'));
    stop = await created({ namespaces: ['platform-remote'], reason: 'leak', until: LATER });
  });

  test('has the stop until the sidecar applies it, and null until it ends it', async () => {
    const replies: unknown[] = [];
    const beat = async (seq: number, sent: object): Promise<void> => {
      const { status, body } = await rig.heartbeat(apiKey, { ...SIDECAR, seq, ...sent });
      replies.push(status === 204 ? null : body);
    };
    await beat(1, {});
    // An AgentStop that was created again under this name would have another end.
    await beat(2, { stop: { ...applied(stop.id), since: '2026-03-01T09:00:00.000Z' } });
    await beat(3, { stop: applied(stop.id) });
    await rig.admin('DELETE', `/stops/${stop.id}`);
    await beat(4, { stop: applied(stop.id) });
    await beat(5, {});
    await beat(6, { stop: applied('pod-annotation') });
    const directive = { id: stop.id, reason: 'leak', since: NOW, until: LATER };
    expect(replies).toEqual([
      { stop: directive },
      { stop: directive },
      ...[null, { stop: null }, null, null],
    ]);
  });

  test('has no stop for a reporter, which cannot apply it', async () => {
    expect((await rig.heartbeat(apiKey, { sidecarVersion: null })).status).toBe(204);
  });

  test('and the status of the agent have the stop, and the history its requester and confirmations', async () => {
    await rig.heartbeat(apiKey, { ...SIDECAR, seq: 1 });
    rig.clock.advance(1_000);
    await rig.heartbeat(apiKey, { ...SIDECAR, seq: 2, stop: applied(stop.id) });
    const { body } = await rig.admin('GET', '/agents/shop');
    expect(body).toMatchObject({
      status: { stop: { id: stop.id, by: 'admin-key', instances: 1, confirmed: 1 } },
    });
    await rig.admin('DELETE', `/stops/${stop.id}`);
    rig.clock.advance(1_000);
    await rig.heartbeat(apiKey, { ...SIDECAR, seq: 3 });
    const history = (await rig.admin('GET', '/agents/shop/history')).body as { changes: { kind: string }[] };
    const confirmedAt = '2026-03-01T10:00:01.000Z';
    expect(history.changes.filter(({ kind }) => kind === 'stop')).toEqual([
      { at: NOW, kind: 'stop', from: null, to: stop.id, summary: `by admin-key, until ${LATER}: leak` },
      {
        ...{ at: '2026-03-01T10:00:02.000Z', kind: 'stop', from: stop.id, to: null },
        summary: `confirmed by the first instance: ${confirmedAt}, by all: ${confirmedAt}`,
      },
    ]);
  });
});
