import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { HistoryStore } from '../../control-plane/stores/history.ts';
import type { AdminAction } from '../../core/shapes/admin-action.ts';
import { addAction, MAX_ACTIONS, MAX_WRONG_KEYS } from '../../control-plane/stores/sql/admin-actions.ts';
import { expireHistory, recordHistory } from '../../control-plane/stores/sql/history-tables.ts';
import type { SqlDatabase } from '../../control-plane/stores/sql/sql-database.ts';
import type { AgentKey, AgentRecord, Store } from '../../control-plane/stores/store.ts';
import type { OutcomeCounts } from '../../core/shapes/outcomes.ts';
import { gradeOf } from '../../core/shapes/grade.ts';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';
import type { FleetPoint, HistoryPoint, HistoryStep } from '../../core/shapes/history.ts';
import { auditEventContract } from './audit-event-contract.ts';
import { diceOf } from '../random/dice.ts';
import { aHeartbeat } from './heartbeat.ts';
import { SEED } from '../random/seed.ts';
import { stopContract } from './stop-contract.ts';

/** A SQL store under test. */
export interface HistoryHarness {
  /** The running store. It keeps at least 100 heartbeats of an agent. */
  readonly store: Store;
  /** The database of the store. */
  readonly database: SqlDatabase;
  /** Closes the store and opens another one with the stored data. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

type Opened = Pick<HistoryHarness, 'store' | 'database'>;

/** The harness of a store that `make` opens with the stored data. `remove` removes the data. */
export async function historyHarnessOf(
  make: () => Promise<Opened>,
  remove: () => unknown,
): Promise<HistoryHarness> {
  let current = await make();
  return {
    get store() {
      return current.store;
    },
    get database() {
      return current.database;
    },
    async restart() {
      await current.store.close();
      current = await make();
    },
    async close() {
      await current.store.close();
      await remove();
    },
  };
}

interface Beat {
  instance?: string;
  startedAt?: string;
  score?: number;
  tokens?: number;
  costUsd?: number;
  outcomes?: Partial<OutcomeCounts>;
  rest?: Partial<Heartbeat>;
}

const NO_OUTCOMES: OutcomeCounts = { allow: 0, deny: 0, failOpen: 0, notEvaluated: 0 };

/** The contract of the history of every SQL store (control-plane/stores/history.ts). Run once per database. */
export function historyContract(name: string, open: () => Promise<HistoryHarness>): void {
  describe(`${name} keeps the history:`, () => {
    let harness: HistoryHarness;
    let created = 0;
    let sent = 0;

    beforeAll(async () => {
      harness = await open();
    }, 120_000);
    afterAll(async () => harness?.close());

    stopContract(() => harness);
    auditEventContract(() => harness);

    const history = (): HistoryStore => harness.store.history!;
    const aKey = (namespace = 'team'): AgentKey => ({ namespace, name: `agent-${(created += 1)}` });

    /** Sends a heartbeat of a pod, which also creates the agent. */
    async function send(key: AgentKey, at: string, beat: Beat = {}): Promise<AgentRecord> {
      const { instance = 'i-1', startedAt = at, score = 100, tokens = 0, costUsd = 0, outcomes } = beat;
      const heartbeat = aHeartbeat({
        seq: (sent += 1),
        sentAt: null,
        startedAt,
        gap: { score, grade: gradeOf(score), source: 'agent-sdk', issues: [] },
        totals: { tokensToday: tokens, costTodayUsd: costUsd },
        outcomes: outcomes === undefined ? null : { ...NO_OUTCOMES, ...outcomes },
        ...beat.rest,
      });
      const sender = { source: 'sidecar' as const, instance, uid: `uid-${instance}` };
      const outcome = await harness.store.heartbeat({ ...key, ...sender, heartbeat, at: new Date(at) });
      if (outcome.kind !== 'accepted') throw new Error(`the heartbeat was not accepted: ${outcome.kind}`);
      return outcome.record;
    }

    const ALL = { from: new Date('2000-01-01T00:00:00.000Z'), to: new Date('2100-01-01T00:00:00.000Z') };
    const pointsOf = async (key: AgentKey, step: HistoryStep, range = ALL): Promise<HistoryPoint[]> =>
      (await history().agent({ ...key, step, ...range })).points;
    const changesOf = async (key: AgentKey, range = ALL): Promise<string[]> =>
      (await history().agent({ ...key, step: 'hour', ...range })).changes.map(
        ({ at, kind, from, to, summary }) =>
          `${at} ${kind}: ${from} -> ${to}${summary === undefined ? '' : ` (${summary})`}`,
      );
    const range = (from: string, to: string) => ({ from: new Date(from), to: new Date(to) });

    /** Four heartbeats in three hours of two days. */
    async function aScript(): Promise<AgentKey> {
      const key = aKey();
      const startedAt = '2026-03-01T10:00:00.000Z';
      const beat = (score: number, tokens: number, outcomes: Partial<OutcomeCounts>): Beat => ({
        ...{ startedAt, score, tokens, outcomes },
        costUsd: tokens / 100,
      });
      await send(key, '2026-03-01T10:00:10.000Z', beat(100, 10, { allow: 5 }));
      await send(key, '2026-03-01T10:30:00.000Z', beat(70, 25, { allow: 7, deny: 1 }));
      await send(key, '2026-03-01T11:00:00.000Z', beat(80, 25, { allow: 8, deny: 1 }));
      await send(key, '2026-03-02T00:10:00.000Z', beat(90, 4, { allow: 9, deny: 1, notEvaluated: 3 }));
      return key;
    }

    const point = (at: string, heartbeats: number, scores: number[], rest: Partial<HistoryPoint>) => {
      const [score = 0, scoreMin = score, scoreMax = score] = scores;
      const outcomes = { ...NO_OUTCOMES, ...rest.outcomes };
      return {
        ...{ at, heartbeats, score, scoreMin, scoreMax, grade: gradeOf(score), phase: 'Healthy' },
        ...{ tokens: 0, costUsd: 0 },
        ...rest,
        outcomes,
      };
    };
    const counts = (allow: number, deny = 0, notEvaluated = 0): OutcomeCounts => ({
      ...NO_OUTCOMES,
      ...{ allow, deny, notEvaluated },
    });

    test('one point for each UTC hour, UTC day and heartbeat', async () => {
      const key = await aScript();
      expect(await pointsOf(key, 'hour')).toEqual([
        point('2026-03-01T10:00:00.000Z', 2, [70, 70, 100], {
          ...{ tokens: 25, costUsd: 0.25, outcomes: counts(7, 1) },
        }),
        point('2026-03-01T11:00:00.000Z', 1, [80], { outcomes: counts(1) }),
        point('2026-03-02T00:00:00.000Z', 1, [90], {
          ...{ tokens: 4, costUsd: 0.04, outcomes: counts(1, 0, 3) },
        }),
      ]);
      expect(await pointsOf(key, 'day')).toEqual([
        point('2026-03-01T00:00:00.000Z', 3, [80, 70, 100], {
          ...{ tokens: 25, costUsd: 0.25, outcomes: counts(8, 1) },
        }),
        point('2026-03-02T00:00:00.000Z', 1, [90], {
          ...{ tokens: 4, costUsd: 0.04, outcomes: counts(1, 0, 3) },
        }),
      ]);
      expect(await pointsOf(key, 'heartbeat')).toEqual([
        point('2026-03-01T10:00:10.000Z', 1, [100], { tokens: 10, costUsd: 0.1, outcomes: counts(5) }),
        point('2026-03-01T10:30:00.000Z', 1, [70], { tokens: 15, costUsd: 0.15, outcomes: counts(2, 1) }),
        point('2026-03-01T11:00:00.000Z', 1, [80], { outcomes: counts(1) }),
        point('2026-03-02T00:10:00.000Z', 1, [90], {
          ...{ tokens: 4, costUsd: 0.04, outcomes: counts(1, 0, 3) },
        }),
      ]);
    });

    test('also after a restart of the store', async () => {
      const key = await aScript();
      const before = await history().agent({ ...key, step: 'hour', ...ALL });
      await harness.restart();
      expect(await history().agent({ ...key, step: 'hour', ...ALL })).toEqual(before);
      await send(key, '2026-03-02T00:30:00.000Z', {
        ...{ startedAt: '2026-03-01T10:00:00.000Z', tokens: 6, costUsd: 0.06 },
      });
      expect((await pointsOf(key, 'hour')).at(-1)).toMatchObject({ heartbeats: 2, tokens: 6, costUsd: 0.06 });
    });

    test.each([
      ['hour', ['2026-03-01T11:00:00.000Z', '2026-03-02T00:00:00.000Z'], '2026-03-01T11:00:00.000Z'],
      ['day', ['2026-03-01T00:00:00.000Z', '2026-03-02T00:00:00.000Z'], '2026-03-01T00:00:00.000Z'],
      ['heartbeat', ['2026-03-01T10:30:00.000Z', '2026-03-01T11:00:00.000Z'], '2026-03-01T10:30:00.000Z'],
    ] as const)(
      'the range of step %s includes its start and excludes its end',
      async (step, [from, to], at) => {
        const key = await aScript();
        expect((await pointsOf(key, step, range(from, to))).map((each) => each.at)).toEqual([at]);
        expect(
          await pointsOf(key, step, range('2026-03-01T11:00:00.001Z', '2026-03-01T11:59:59.000Z')),
        ).toEqual([]);
      },
    );

    test('the lowest and highest score, whatever the order of the heartbeats', async () => {
      const key = aKey();
      for (const [index, score] of [80, 60, 100, 70].entries())
        await send(key, `2026-03-01T10:0${index}:00.000Z`, { score });
      expect((await pointsOf(key, 'day'))[0]).toMatchObject({
        score: 70,
        scoreMin: 60,
        scoreMax: 100,
        grade: 'C',
      });
    });

    test('heartbeats after the clock was set back belong to the hour in which they were received', async () => {
      const key = aKey();
      await send(key, '2026-03-01T10:00:00.000Z', { tokens: 5, startedAt: '2026-03-01T08:00:00.000Z' });
      await send(key, '2026-03-01T09:59:00.000Z', { tokens: 7, startedAt: '2026-03-01T08:00:00.000Z' });
      expect((await pointsOf(key, 'hour')).map(({ at, tokens }) => [at, tokens])).toEqual([
        ['2026-03-01T09:00:00.000Z', 2],
        ['2026-03-01T10:00:00.000Z', 5],
      ]);
    });

    test('sums that exceed 64 bits', async () => {
      const key = aKey();
      const { status } = await send(key, '2026-03-01T10:00:00.000Z');
      const at = new Date('2026-03-01T10:01:00.000Z');
      const huge = { ...NO_OUTCOMES, allow: 9e18 };
      const large = { ...(await pointsOf(key, 'hour'))[0]!, tokens: 9e18, costUsd: 1e12, outcomes: huge };
      for (let times = 0; times < 3; times += 1)
        await harness.database.transaction((session) =>
          recordHistory(session, { key, before: status, after: status, point: large, at }),
        );
      expect((await pointsOf(key, 'day'))[0]).toMatchObject({ tokens: 2.7e19, outcomes: { allow: 2.7e19 } });
      const day = { step: 'day' as const, ...range('2026-03-01T00:00:00.000Z', '2026-03-02T00:00:00.000Z') };
      expect((await history().fleet({ ...day, namespaces: null }))[0]!.tokens).toBeGreaterThanOrEqual(2.7e19);
    });

    test('concurrent heartbeats of twenty instances', async () => {
      const key = aKey();
      await send(key, '2026-03-01T09:00:00.000Z');
      const names = Array.from({ length: 20 }, (_, index) => `pod-${index}`);
      const beat = { tokens: 3, outcomes: { allow: 2 } };
      await Promise.all(
        names.map((instance) => send(key, '2026-03-01T09:01:00.000Z', { instance, ...beat })),
      );
      expect(await pointsOf(key, 'day')).toMatchObject([
        { heartbeats: 21, tokens: 60, outcomes: { allow: 40 } },
      ]);
    });

    test('the sums of a day are the same in each step, and its tokens are those of the status', async () => {
      const key = aKey();
      const dice = diceOf(SEED);
      const processes = new Map<string, { startedAt: string; day: string; tokens: number; allow: number }>();
      const shown = new Map<string, number>();
      let ms = Date.parse('2026-03-01T14:00:00.000Z');
      for (let index = 0; index < 90; index += 1) {
        ms += 10_000 + Math.floor(dice() * 1_500_000);
        const at = new Date(ms).toISOString();
        const day = at.slice(0, 10);
        const instance = `pod-${Math.floor(dice() * 3)}`;
        const fresh = { startedAt: at, day, tokens: 0, allow: 0 };
        const known = dice() < 0.1 ? fresh : (processes.get(instance) ?? fresh);
        const tokens = (known.day === day ? known.tokens : 0) + Math.floor(dice() * 1000);
        const process = { ...known, day, tokens, allow: known.allow + Math.floor(dice() * 10) };
        processes.set(instance, process);
        const { startedAt, allow } = process;
        const beat = { instance, startedAt, tokens, costUsd: tokens / 1000, outcomes: { allow } };
        shown.set(day, (await send(key, at, beat)).status.tokens!);
      }
      const sums = await Promise.all(
        (['heartbeat', 'hour', 'day'] as const).map(async (step) => sumsByDay(await pointsOf(key, step))),
      );
      expect(sums[0]!.map(({ day, tokens }) => [day, tokens])).toEqual([...shown]);
      expect(sums[1]).toEqual(sums[0]);
      expect(sums[2]).toEqual(sums[0]);
    });

    describe('the fleet', () => {
      const AT = '2030-01-01T';

      test('by the last score of each agent, by namespace, with gaps between the points', async () => {
        const scores = [90, 75, 60, 45, 44];
        for (const score of scores) {
          const key = aKey('fleet-a');
          // Only the last score of the hour counts.
          await send(key, `${AT}00:00:00.000Z`, { score: 100, tokens: 1 });
          await send(key, `${AT}00:30:00.000Z`, { ...{ startedAt: `${AT}00:00:00.000Z` }, score, tokens: 3 });
        }
        const other = aKey('fleet-b');
        const startedAt = `${AT}01:00:00.000Z`;
        await send(other, startedAt, {
          score: 100,
          tokens: 10,
          costUsd: 0.1,
          outcomes: { allow: 4, deny: 2 },
        });
        await send(other, `${AT}09:00:00.000Z`, { startedAt, score: 71, tokens: 12, costUsd: 0.3 });
        await send(aKey('fleet-c'), `${AT}09:59:59.999Z`, { score: 100, outcomes: { failOpen: 1 } });

        const noGrades = { A: 0, B: 0, C: 0, D: 0, F: 0 };
        const none = { heartbeats: 1, tokens: 0, costUsd: 0, outcomes: NO_OUTCOMES };
        const first: FleetPoint = {
          ...{ at: `${AT}00:00:00.000Z`, agents: 5, heartbeats: 10, score: 62.8 },
          grades: { A: 1, B: 1, C: 1, D: 1, F: 1 },
          ...{ tokens: 15, costUsd: 0, outcomes: NO_OUTCOMES },
        };
        const second: FleetPoint = {
          ...{ at: startedAt, agents: 1, heartbeats: 1, score: 100, grades: { ...noGrades, A: 1 } },
          ...{ tokens: 10, costUsd: 0.1, outcomes: { ...NO_OUTCOMES, allow: 4, deny: 2 } },
        };
        const third: FleetPoint = {
          ...{ at: `${AT}09:00:00.000Z`, agents: 2, score: 85.5, grades: { ...noGrades, A: 1, C: 1 } },
          ...{ heartbeats: 2, tokens: 2, costUsd: 0.2, outcomes: { ...NO_OUTCOMES, failOpen: 1 } },
        };
        const day = range(`${AT}00:00:00.000Z`, '2030-01-02T00:00:00.000Z');
        expect(await history().fleet({ step: 'hour', ...day, namespaces: null })).toEqual([
          first,
          second,
          third,
        ]);
        expect(await history().fleet({ step: 'hour', ...day, namespaces: ['fleet-b'] })).toEqual([
          second,
          {
            ...{ ...none, at: third.at, agents: 1, score: 71, grades: { ...noGrades, C: 1 } },
            ...{ tokens: 2, costUsd: 0.2 },
          },
        ]);
        const several = ['unknown', 'fleet-b', 'another'];
        expect((await history().fleet({ step: 'hour', ...day, namespaces: several }))[0]).toEqual(second);
        expect(
          await history().fleet({ step: 'hour', ...range(second.at, third.at), namespaces: null }),
        ).toEqual([second]);
        expect(await history().fleet({ step: 'day', ...day, namespaces: null })).toMatchObject([
          { at: first.at, agents: 7, heartbeats: 13, tokens: 27, costUsd: 0.3, grades: { A: 2, C: 2 } },
        ]);
      });

      test('without points', async () => {
        const empty = range('2040-01-01T00:00:00.000Z', '2040-01-02T00:00:00.000Z');
        expect(await history().fleet({ step: 'hour', ...empty, namespaces: null })).toEqual([]);
        expect(await history().fleet({ step: 'hour', ...ALL, namespaces: ['unknown'] })).toEqual([]);
        expect(await history().fleet({ step: 'hour', ...ALL, namespaces: [] })).toEqual([]);
      });
    });

    test('trends have the last scores by hour of the last 24 hours', async () => {
      const [one, other] = [aKey(), aKey('another')];
      const startedAt = '2031-02-28T00:00:00.000Z';
      await send(one, '2031-02-28T12:59:00.000Z', { startedAt, score: 50 });
      await send(one, '2031-02-28T13:00:00.000Z', { startedAt, score: 60 });
      await send(one, '2031-02-28T13:30:00.000Z', { startedAt, score: 65 });
      await send(one, '2031-03-01T12:10:00.000Z', { startedAt, score: 70 });
      await send(other, '2031-03-01T11:00:00.000Z', { startedAt, score: 80 });
      // More than one query.
      const unknown = Array.from({ length: 58 }, () => aKey());
      const keys = [one, ...unknown, other];
      const at = new Date('2031-03-01T12:30:00.000Z');
      expect([...(await history().trends(keys, at))].sort()).toEqual(
        [
          [`team/${one.name}`, [65, 70]],
          [`another/${other.name}`, [80]],
        ].sort(),
      );
      expect(await history().trends([], at)).toEqual(new Map());
      expect(await history().trends([{ namespace: 'another', name: one.name }], at)).toEqual(new Map());
    });

    describe('changes', () => {
      test('of phase, grade, manifest, version and policy mode, with the time', async () => {
        const key = aKey();
        const startedAt = '2026-03-01T10:00:00.000Z';
        await send(key, startedAt, { rest: { manifestHash: 'one', sidecarVersion: '0.1.0' } });
        await send(key, '2026-03-01T10:00:30.000Z', {
          startedAt,
          score: 80,
          rest: { manifestHash: 'two', sidecarVersion: '0.1.0', policyMode: 'track' },
        });
        // No change without a heartbeat until the instance is stale.
        await harness.store.find(key, new Date('2026-03-01T10:02:30.000Z'));
        await harness.store.find(key, new Date('2026-03-01T10:02:31.000Z'));
        await harness.store.find(key, new Date('2026-03-01T10:02:32.000Z'));
        expect(await changesOf(key)).toEqual([
          `${startedAt} phase: null -> Healthy`,
          `${startedAt} grade: null -> A`,
          `${startedAt} manifest: null -> one`,
          `${startedAt} version: null -> 0.1.0`,
          '2026-03-01T10:00:30.000Z grade: A -> B',
          '2026-03-01T10:00:30.000Z manifest: one -> two (what changed is not known, because the control plane does not have both manifests)',
          '2026-03-01T10:00:30.000Z policy-mode: null -> track',
          '2026-03-01T10:02:31.000Z phase: Healthy -> Unknown',
        ]);
        expect(
          await changesOf(key, range('2026-03-01T10:00:30.000Z', '2026-03-01T10:02:31.000Z')),
        ).toHaveLength(3);
        // A status without a heartbeat is not a point.
        expect(await pointsOf(key, 'hour')).toMatchObject([{ heartbeats: 2, phase: 'Healthy' }]);
      });

      test('at most 200 of an agent, the newest', async () => {
        const [key, other] = [aKey(), aKey()];
        const at = new Date('2026-03-01T10:00:00.000Z');
        const { status } = await send(key, at.toISOString());
        await send(other, at.toISOString());
        await harness.database.transaction(async (session) => {
          for (let index = 0; index < 205; index += 1)
            await recordHistory(session, {
              key,
              before: { ...status, manifestHash: `h-${index}` },
              after: { ...status, manifestHash: `h-${index + 1}` },
              point: null,
              at,
            });
        });
        const changes = await changesOf(key);
        expect(changes).toHaveLength(200);
        expect(changes[0]).toBe(`${at.toISOString()} manifest: h-5 -> h-6`);
        expect(changes.at(-1)).toBe(`${at.toISOString()} manifest: h-204 -> h-205`);
        expect(await changesOf(other)).toHaveLength(2);
      });
    });

    test('until the agent is removed', async () => {
      const key = aKey();
      const at = new Date('2026-03-01T10:00:00.000Z');
      const register = () => harness.store.register({ ...key, runtime: 'docker', manifest: null }, at);
      await register();
      const beat = { source: 'remote' as const, instance: 'i-1', heartbeat: aHeartbeat(), at };
      await harness.store.heartbeat({ ...key, ...beat });
      expect(await pointsOf(key, 'hour')).toHaveLength(1);
      expect(await harness.store.remove(key)).toBe('removed');
      await register();
      for (const step of ['hour', 'day', 'heartbeat'] as const) expect(await pointsOf(key, step)).toEqual([]);
      // The new registration.
      expect(await changesOf(key)).toEqual([`${at.toISOString()} phase: null -> Pending`]);
    });

    test('as long as the retention, and deletes at most 24 hours or days at once', async () => {
      const key = aKey();
      const startedAt = '2001-01-01T00:00:00.000Z';
      await send(key, startedAt, { score: 100 });
      await send(key, '2001-01-01T10:00:00.000Z', { startedAt, score: 80 });
      await send(key, '2001-01-02T12:00:00.000Z', { startedAt, score: 100 });
      const retention = { heartbeats: 100, hourlyDays: 1, dailyDays: 2 };
      const expireAt = async (at: string): Promise<unknown> => {
        await harness.database.transaction((session) => expireHistory(session, retention, new Date(at)));
        const times = async (step: HistoryStep) =>
          (await pointsOf(key, step)).map((each) => each.at.slice(8, 13));
        return {
          hours: await times('hour'),
          days: await times('day'),
          changes: (await changesOf(key)).length,
        };
      };
      expect(await expireAt('2001-01-02T10:00:00.000Z')).toEqual({
        ...{ hours: ['01T10', '02T12'], days: ['01T00', '02T00'], changes: 4 },
      });
      expect(await expireAt('2001-01-04T00:00:00.000Z')).toEqual({
        ...{ hours: ['02T12'], days: ['02T00'], changes: 1 },
      });
      expect(await expireAt('2001-01-04T00:00:00.000Z')).toMatchObject({ hours: [], days: ['02T00'] });
      expect(await expireAt('2001-01-05T00:00:00.000Z')).toEqual({ hours: [], days: [], changes: 0 });
    });

    describe('admin actions', () => {
      const ALICE = { method: 'oidc', iss: 'https://id.example', sub: '1', name: 'Alice' } as const;
      const anAction = (overrides: Partial<Omit<AdminAction, 'id'>> = {}): Omit<AdminAction, 'id'> => ({
        at: '2026-03-01T10:00:00.000Z',
        action: 'deleteAgent',
        address: '10.0.0.1',
        actor: null,
        agentName: 'shop',
        namespace: 'team',
        ruleId: null,
        status: 204,
        ...overrides,
      });

      test('the newest first, in pages, also after a restart', async () => {
        expect(await history().actions({ limit: 10, before: null })).toEqual([]);
        const actions = [
          anAction(),
          anAction({ action: 'register', agentName: null, namespace: null, status: 400 }),
          anAction({ ruleId: 'MEM-01', status: 201, actor: ALICE }),
        ];
        for (const action of actions) await history().addAction(action);
        await harness.restart();
        const all = await history().actions({ limit: 10, before: null });
        expect(all.map(({ id: _, ...action }) => action)).toEqual([...actions].reverse());
        const [newest, middle, oldest] = all.map(({ id }) => id) as [number, number, number];
        expect([newest > middle, middle > oldest]).toEqual([true, true]);
        const page = await history().actions({ limit: 1, before: newest });
        expect(page).toEqual([all[1]]);
        expect(await history().actions({ limit: 10, before: middle })).toEqual([all[2]]);
        expect(await history().actions({ limit: 10, before: oldest })).toEqual([]);
      });

      test('of a removed agent stay', async () => {
        await history().addAction(anAction({ agentName: 'never-existed' }));
        expect((await history().actions({ limit: 1, before: null }))[0]).toMatchObject({
          agentName: 'never-existed',
        });
      });

      test('the last 10,000', async () => {
        await harness.database.transaction(async (session) => {
          await session.run(
            `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < $1)
             INSERT INTO admin_actions (at, action, address, status) SELECT i, 'filler', '::1', 200 FROM numbers`,
            MAX_ACTIONS,
          );
          await addAction(session, anAction({ action: 'last' }));
        });
        const all = await history().actions({ limit: 2 * MAX_ACTIONS, before: null });
        expect(all).toHaveLength(MAX_ACTIONS);
        expect(all[0]).toMatchObject({ action: 'last' });
        expect(all.at(-1)).toMatchObject({
          action: 'filler',
          agentName: null,
          namespace: null,
          ruleId: null,
        });
      });

      test('are not displaced by requests with a wrong key', async () => {
        await history().addAction(anAction({ agentName: 'kept' }));
        await harness.database.transaction(async (session) => {
          await session.run(
            `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < $1)
             INSERT INTO admin_actions (at, action, address, status) SELECT i, 'filler', '::1', 403 FROM numbers`,
            MAX_ACTIONS,
          );
          await addAction(session, anAction({ status: 403 }));
        });
        const all = await history().actions({ limit: 2 * MAX_ACTIONS, before: null });
        expect(all.filter(({ status }) => status === 403)).toHaveLength(MAX_WRONG_KEYS);
        expect(all).toContainEqual(expect.objectContaining({ agentName: 'kept' }));
      });
    });
  });
}

/** Tokens, cost and allowed requests of the points by UTC day. */
function sumsByDay(points: readonly HistoryPoint[]) {
  const sums = new Map<string, { tokens: number; costUsd: number; allow: number; heartbeats: number }>();
  for (const { at, tokens, costUsd, outcomes, heartbeats } of points) {
    const day = at.slice(0, 10);
    const sum = sums.get(day) ?? { tokens: 0, costUsd: 0, allow: 0, heartbeats: 0 };
    sums.set(day, {
      tokens: sum.tokens + tokens,
      costUsd: Math.round((sum.costUsd + costUsd) * 1e6) / 1e6,
      allow: sum.allow + outcomes.allow,
      heartbeats: sum.heartbeats + heartbeats,
    });
  }
  return [...sums].map(([day, sum]) => ({ day, ...sum }));
}
