import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type {
  AgentKey,
  AgentRecord,
  Arrival,
  HeartbeatOutcome,
  Registration,
  Store,
} from '../../control-plane/stores/store.ts';
import type { EvidenceReport } from '../../core/shapes/evidence.ts';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';
import { mergeHeartbeat } from '../../core/observation/merge-heartbeat.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import type { ProofRecord } from '../../core/shapes/proof.ts';
import { changesContract } from './changes-contract.ts';
import { EGRESS, EGRESS_SUMMARY } from './egress-report.ts';
import { aHeartbeat } from './heartbeat.ts';

/** One kind of store under test. */
export interface StoreHarness {
  /** The running store. */
  readonly store: Store;
  /** The store knows the cluster of its workloads. */
  readonly hasCluster: boolean;
  /** Closes the store and opens another one with the stored data, like a process restart. */
  restart(): Promise<void>;
  /** An unused namespace. */
  namespace(): Promise<string>;
  /** Makes a workload of the cluster known to the store. */
  workload(key: AgentKey): Promise<void>;
  close(): Promise<void>;
}

/**
 * The harness of a store that learns of workloads by their heartbeats.
 * @param make opens the store with the stored data
 * @param remove removes the stored data
 */
export async function harnessOf(
  make: () => Promise<Store>,
  { hasCluster = false, remove }: { hasCluster?: boolean; remove?: () => void } = {},
): Promise<StoreHarness> {
  let store = await make();
  let namespaces = 0;
  return {
    hasCluster,
    get store() {
      return store;
    },
    async restart() {
      await store.close();
      store = await make();
    },
    namespace: () => Promise.resolve(`ns-${(namespaces += 1)}`),
    async workload(key) {
      const then = '2026-02-01T00:00:00.000Z';
      const heartbeat = aHeartbeat({ startedAt: then });
      const first = { ...key, source: 'sidecar' as const, instance: 'first', uid: 'u', heartbeat };
      await store.heartbeat({ ...first, at: new Date(then) });
    },
    async close() {
      await store.close();
      remove?.();
    },
  };
}

export const CONTRACT_RATE_LIMIT_SECONDS = 10;

const T0 = Date.parse('2026-03-01T10:00:00.000Z');
const at = (seconds: number): Date => new Date(T0 + seconds * 1000);

const aRegistration = (key: AgentKey, overrides: Partial<Registration> = {}): Registration => ({
  ...key,
  runtime: 'docker',
  manifest: null,
  ...overrides,
});

const aToken = (hash: string, days = 30) => ({ hash, expiresAt: at(days * 86_400).toISOString() });

function anArrival(key: AgentKey, overrides: Partial<Arrival> = {}): Arrival {
  return { ...key, source: 'remote', instance: 'i-1', heartbeat: aHeartbeat(), at: at(0), ...overrides };
}

const unhealthy = (seq: number, score: number) =>
  aHeartbeat({
    seq,
    health: {
      agentName: 'shop',
      timestamp: at(0).toISOString(),
      status: 'unhealthy',
      summary: { passed: 0, failed: 1, warnings: 0, skipped: 0 },
      checks: [{ id: 'env:KEY', category: 'env', status: 'fail', severity: 'error', message: 'not set' }],
    },
    gap: {
      score,
      grade: score >= 75 ? 'B' : 'C',
      source: 'agent-sdk',
      issues: [
        { severity: 'high', property: 'env:KEY', description: 'KEY is not set', recommendation: 'set it' },
      ],
    },
  });

const aProof = (
  ruleId: string,
  seconds = 0,
  origin: ProofRecord['origin'] = 'control-plane',
): ProofRecord => ({
  ruleId,
  origin,
  verifiedBy: 'k6',
  method: '429 under load',
  verifiedAt: at(seconds).toISOString(),
});

/** The part of a status that both kinds of stores compute from heartbeats alone. */
function reported(status: ObservationStatus | undefined): Partial<ObservationStatus> {
  const {
    agentId: _id,
    runtime: _runtime,
    tokenHashes: _tokens,
    observedGeneration: _generation,
    conditions: _conditions,
    ...rest
  } = status ?? { phase: 'Pending' };
  // Undefined members do not count as a difference, because the API server prunes them.
  return JSON.parse(JSON.stringify(rest)) as Partial<ObservationStatus>;
}

/** The contract of every store (control-plane/stores/store.ts). Run once per kind of store. */
export function storeContract(name: string, open: () => Promise<StoreHarness>): void {
  describe(`${name} fulfils the store contract:`, () => {
    let harness: StoreHarness;
    let names = 0;

    beforeAll(async () => {
      harness = await open();
    }, 120_000);
    afterAll(async () => harness?.close());

    const aKey = async (): Promise<AgentKey> => ({
      namespace: await harness.namespace(),
      name: `agent-${(names += 1)}`,
    });

    async function aRemoteAgent(overrides: Partial<Registration> = {}): Promise<AgentRecord> {
      const outcome = await harness.store.register(aRegistration(await aKey(), overrides), at(0));
      if (outcome.kind !== 'created') throw new Error(`the name is ${outcome.kind}`);
      return outcome.record;
    }

    const keyOf = ({ namespace, name: agent }: AgentKey): AgentKey => ({ namespace, name: agent });
    const find = (key: AgentKey, seconds = 0) => harness.store.find(key, at(seconds));
    const kindOf = async (outcome: Promise<HeartbeatOutcome>) => (await outcome).kind;

    test('it is ready', () => {
      expect(harness.store.unready()).toBeNull();
    });

    describe('registration', () => {
      test('creates a Pending agent that can be found by name', async () => {
        const key = await aKey();
        const manifest = { hash: 'abc', model: { provider: 'openai', id: 'gpt-x' } };
        const outcome = await harness.store.register(
          aRegistration(key, { runtime: 'bedrock', manifest }),
          at(0),
        );
        const found = await find(key);
        expect(outcome).toEqual({ kind: 'created', record: found });
        expect(found).toMatchObject({
          ...key,
          agentId: expect.stringMatching(/^agt_[0-9a-f]{32}$/),
          runtime: 'bedrock',
          source: 'remote',
          status: { phase: 'Pending', manifestHash: 'abc', model: { provider: 'openai', id: 'gpt-x' } },
        });
        expect(await harness.store.report(key, null, at(0))).toBeNull();
      });

      test('repeated, keeps the id and the reported data, and stores the new runtime', async () => {
        const agent = await aRemoteAgent();
        await harness.store.heartbeat(anArrival(agent));
        const outcome = await harness.store.register(
          aRegistration(keyOf(agent), { runtime: 'local' }),
          at(60),
        );
        expect(outcome).toMatchObject({
          kind: 'exists',
          record: { agentId: agent.agentId, runtime: 'local', status: { phase: 'Healthy', score: 100 } },
        });
      });

      test('of a workload is rejected', async () => {
        const key = await aKey();
        await harness.workload(key);
        expect(await harness.store.register(aRegistration(key), at(0))).toEqual({ kind: 'taken' });
        expect(await find(key)).toMatchObject({ source: 'sidecar', runtime: 'k8s' });
      });

      test('gives agents of one name in two namespaces different ids', async () => {
        const one = await aRemoteAgent();
        const other = { namespace: await harness.namespace(), name: one.name };
        const outcome = await harness.store.register(aRegistration(other), at(0));
        const found = await harness.store.findByName(one.name, at(0));
        expect(found.map(keyOf)).toEqual(
          [keyOf(one), other].sort((a, b) => (a.namespace < b.namespace ? -1 : 1)),
        );
        expect(outcome).not.toMatchObject({ record: { agentId: one.agentId } });
      });
    });

    describe('tokens', () => {
      const holds = (agent: AgentRecord, hash: string, seconds = 0) =>
        harness.store.hasToken({
          ...keyOf(agent),
          agentId: agent.agentId,
          token: aToken(hash),
          at: at(seconds),
        });
      const grant = (agent: AgentRecord, hash: string, days = 30) => ({
        ...keyOf(agent),
        agentId: agent.agentId,
        token: aToken(hash, days),
        at: at(0),
      });

      test('adding a token keeps the others, replacing revokes them, also after a restart', async () => {
        const agent = await aRemoteAgent();
        expect(await harness.store.replaceTokens(grant(agent, 'a'))).toBe('stored');
        expect(await harness.store.addToken(grant(agent, 'b'))).toBe('stored');
        await harness.restart();
        expect([await holds(agent, 'a'), await holds(agent, 'b'), await holds(agent, 'c')]).toEqual([
          true,
          true,
          false,
        ]);
        expect(await harness.store.replaceTokens(grant(agent, 'c'))).toBe('stored');
        await harness.restart();
        expect([await holds(agent, 'a'), await holds(agent, 'b'), await holds(agent, 'c')]).toEqual([
          false,
          false,
          true,
        ]);
      });

      test('tokens granted at the same time are all kept', async () => {
        const agent = await aRemoteAgent();
        const hashes = Array.from({ length: 8 }, (_, index) => `t-${index}`);
        await Promise.all(hashes.map((hash) => harness.store.addToken(grant(agent, hash))));
        expect(await Promise.all(hashes.map((hash) => holds(agent, hash)))).toEqual(hashes.map(() => true));
      });

      test('an expired token is invalid', async () => {
        const agent = await aRemoteAgent();
        await harness.store.addToken(grant(agent, 'a', 1));
        expect([await holds(agent, 'a', 86_399), await holds(agent, 'a', 86_400)]).toEqual([true, false]);
      });

      test('the 101st valid token is rejected', async () => {
        const agent = await aRemoteAgent();
        for (let index = 0; index < 100; index += 1)
          expect(await harness.store.addToken(grant(agent, `t-${index}`))).toBe('stored');
        expect(await harness.store.addToken(grant(agent, 't-100'))).toBe('too-many');
        expect(await holds(agent, 't-100')).toBe(false);
        expect(await harness.store.replaceTokens(grant(agent, 't-101'))).toBe('stored');
      });

      test('are rejected for an agent that does not exist or was replaced', async () => {
        const agent = await aRemoteAgent();
        const other = { ...agent, agentId: 'agt_other' };
        expect(await harness.store.addToken(grant(other, 'a'))).toBe('unknown-agent');
        expect(await harness.store.replaceTokens(grant({ ...agent, name: 'unknown' }, 'a'))).toBe(
          'unknown-agent',
        );
        await harness.store.addToken(grant(agent, 'a'));
        expect(await holds(other, 'a')).toBe(false);
        expect(await holds({ ...agent, name: 'unknown' }, 'a')).toBe(false);
      });
    });

    describe('heartbeats', () => {
      test('produce exactly the status of the shared function, also with restarts', async () => {
        const agent = await aRemoteAgent();
        const totals = (tokensToday: number) => ({
          totals: { tokensToday, costTodayUsd: tokensToday / 100 },
        });
        const script: Arrival[] = [
          anArrival(agent, { heartbeat: aHeartbeat({ seq: 1, ...totals(10) }) }),
          anArrival(agent, { instance: 'i-2', at: at(5), heartbeat: unhealthy(1, 80) }),
          anArrival(agent, { at: at(30), heartbeat: aHeartbeat({ seq: 2, ...totals(20) }) }),
          anArrival(agent, { instance: 'i-2', at: at(35), heartbeat: unhealthy(2, 60) }),
          anArrival(agent, {
            at: at(60),
            heartbeat: aHeartbeat({ seq: 1, startedAt: at(50).toISOString(), ...totals(1) }),
          }),
          anArrival(agent, { instance: 'i-2', at: at(65), heartbeat: aHeartbeat({ seq: 3, ...totals(7) }) }),
        ];
        let expected: ObservationStatus = agent.status;
        for (const [index, arrival] of script.entries()) {
          const { instance, heartbeat, at: when } = arrival;
          expected = mergeHeartbeat(expected, heartbeat, { instance }, when);
          const outcome = await harness.store.heartbeat(arrival);
          expect(outcome).toMatchObject({ kind: 'accepted' });
          if (index % 2 === 1) await harness.restart();
          expect(reported((await find(agent, 66))?.status)).toEqual(reported(expected));
        }
        expect(expected).toMatchObject({ phase: 'Healthy', score: 100, tokens: 28, instanceCount: 2 });
      });

      test('repeated and late heartbeats change nothing, also within the rate limit', async () => {
        const agent = await aRemoteAgent();
        await harness.store.heartbeat(anArrival(agent, { heartbeat: aHeartbeat({ seq: 7 }) }));
        const before = await find(agent);
        for (const seq of [7, 6])
          expect(
            await harness.store.heartbeat(anArrival(agent, { at: at(1), heartbeat: unhealthy(seq, 60) })),
          ).toEqual({ kind: 'repeat' });
        expect(await find(agent)).toEqual(before);
      });

      test('of one instance are accepted only every ten seconds, also after a restart', async () => {
        const agent = await aRemoteAgent();
        const send = (seq: number, seconds: number, instance = 'i-1') =>
          harness.store.heartbeat(
            anArrival(agent, { instance, at: at(seconds), heartbeat: aHeartbeat({ seq }) }),
          );
        expect(await send(1, 0)).toMatchObject({ kind: 'accepted' });
        expect(await send(2, 0)).toEqual({ kind: 'limited', retryAfterSeconds: 10 });
        expect(await send(1, 0, 'i-2')).toMatchObject({ kind: 'accepted' });
        await harness.restart();
        expect(await send(2, 6.5)).toEqual({ kind: 'limited', retryAfterSeconds: 4 });
        expect(await send(2, 9.499)).toEqual({ kind: 'limited', retryAfterSeconds: 1 });
        // A sender with an interval of ten seconds may be a little early.
        expect(await send(2, 9.95)).toMatchObject({ kind: 'accepted' });
        expect(await send(3, 10.5)).toEqual({ kind: 'limited', retryAfterSeconds: 10 });
      });

      test('with invented instance names do not bypass the limit: 60 new instances of a registered agent in ten seconds', async () => {
        const agent = await aRemoteAgent();
        const send = (name: string, seconds: number, seq = 1) =>
          harness.store.heartbeat(
            anArrival(agent, { instance: name, at: at(seconds), heartbeat: aHeartbeat({ seq }) }),
          );
        const burst = (from: number, seconds: number) =>
          Promise.all(Array.from({ length: 70 }, (_, i) => send(`i-${from + i}`, seconds)));
        const accepted = (outcomes: HeartbeatOutcome[]) =>
          outcomes.filter(({ kind }) => kind === 'accepted').length;
        const first = await burst(0, 0);
        expect(accepted(first)).toBe(60);
        // A store may handle concurrent heartbeats in another order than they were sent.
        const isKnown = first.map(({ kind }) => kind === 'accepted');
        const limited = first.find(({ kind }) => kind !== 'accepted');
        expect(limited).toEqual({ kind: 'limited', retryAfterSeconds: 10, isNewName: true });
        const unknown = `i-${isKnown.indexOf(false)}`;
        expect(await send(unknown, 9.5)).toEqual({ kind: 'limited', retryAfterSeconds: 1, isNewName: true });
        // A known instance is limited only by its own last heartbeat, listed or not.
        for (const known of [`i-${isKnown.indexOf(true)}`, `i-${isKnown.lastIndexOf(true)}`]) {
          expect(await send(known, 9, 2)).toEqual({ kind: 'limited', retryAfterSeconds: 1 });
          expect(await send(known, 10, 2)).toMatchObject({ kind: 'accepted' });
        }
        expect(accepted(await burst(100, 10))).toBe(60);
        expect((await find(agent, 10))?.status).toMatchObject({ instanceCount: 120, unlistedCount: 70 });
      });

      test('of the pods of a workload are limited per pod, for any number of new pods', async () => {
        const key = await aKey();
        await harness.workload(key);
        const pods = Array.from({ length: 70 }, (_, i) =>
          anArrival(key, { source: 'sidecar', instance: `pod-${i}`, uid: `uid-${i}` }),
        );
        const outcomes = await Promise.all(pods.map((pod) => harness.store.heartbeat(pod)));
        expect(outcomes.every(({ kind }) => kind === 'accepted')).toBe(true);
        const again = { ...pods[69]!, at: at(1), heartbeat: aHeartbeat({ seq: 2 }) };
        expect(await harness.store.heartbeat(again)).toEqual({ kind: 'limited', retryAfterSeconds: 9 });
      });

      test('store the stop of the agent, which stays while the sender does not know the stops', async () => {
        const key = await aKey();
        await harness.workload(key);
        const stop = { ...key, name: 'incident', since: at(0).toISOString(), spec: { reason: 'leak' } };
        const found: (string | undefined)[] = [];
        for (const [index, known] of [{ stop }, {}, { stop: null }].entries()) {
          const heartbeat = aHeartbeat({ seq: index + 1 });
          const arrival = anArrival(key, { source: 'sidecar', instance: 'pod', uid: 'uid', heartbeat });
          await harness.store.heartbeat({ ...arrival, ...known, at: at(10 * index) });
          found.push((await find(key, 10 * index))?.status.stop?.id);
        }
        const id = `${key.namespace}/incident`;
        expect(found).toEqual([id, id, undefined]);
      });

      test('are accepted after the clock was set back', async () => {
        const agent = await aRemoteAgent();
        await harness.store.heartbeat(anArrival(agent, { at: at(3600), heartbeat: aHeartbeat({ seq: 1 }) }));
        const outcome = harness.store.heartbeat(
          anArrival(agent, { at: at(0), heartbeat: aHeartbeat({ seq: 2 }) }),
        );
        expect(await kindOf(outcome)).toBe('accepted');
      });

      test('of many concurrent instances are all counted', async () => {
        const agent = await aRemoteAgent();
        const instances = Array.from({ length: 30 }, (_, index) => `i-${index}`);
        const heartbeat = aHeartbeat({ totals: { tokensToday: 5 } });
        await Promise.all(
          instances.map((instance) => harness.store.heartbeat(anArrival(agent, { instance, heartbeat }))),
        );
        await harness.restart();
        expect((await find(agent))?.status).toMatchObject({ instanceCount: 30, tokens: 150 });
      });

      test('a 51st instance replaces a silent instance', async () => {
        const agent = await aRemoteAgent();
        const send = (instance: string, seconds: number) =>
          harness.store.heartbeat(
            anArrival(agent, {
              instance,
              at: at(seconds),
              heartbeat: aHeartbeat({ totals: { tokensToday: 1 } }),
            }),
          );
        for (let index = 0; index < 50; index += 1) await send(`i-${index}`, index < 10 ? 0 : 100);
        await send('late', 150);
        const status = (await find(agent, 150))?.status;
        expect(status).toMatchObject({ instanceCount: 41, tokens: 51 });
        expect(status?.instances?.map((instance) => instance.name)).toContain('late');
      });

      test('a silent instance is removed after an hour, when others report', async () => {
        const agent = await aRemoteAgent();
        const send = (instance: string, seconds: number) =>
          harness.store.heartbeat(anArrival(agent, { instance, at: at(seconds), heartbeat: aHeartbeat() }));
        await send('i-1', 0);
        await send('i-2', 3600);
        const names2 = async () =>
          (await find(agent, 3601))?.status.instances?.map((instance) => instance.name);
        expect(await names2()).toEqual(['i-1', 'i-2']);
        await send('i-3', 3601);
        expect(await names2()).toEqual(['i-2', 'i-3']);
      });

      test.each(['__proto__', 'constructor', 'toString', '💥', 'a b'])(
        'an instance may be called %s',
        async (instance) => {
          const agent = await aRemoteAgent();
          await harness.store.heartbeat(anArrival(agent, { instance }));
          expect(await harness.store.report(agent, instance, at(0))).toMatchObject({ instance });
          expect(await harness.store.report(agent, 'valueOf', at(0))).toBeNull();
        },
      );

      test('keep the critical issues of an instance after its restart', async () => {
        const agent = await aRemoteAgent();
        const send = (startedAt: number, score: number, ...properties: string[]) => {
          const issues = properties.map((property) => ({
            ...{ severity: 'critical' as const, property, description: 'd', recommendation: 'r' },
          }));
          const gap = { score, grade: 'A' as const, source: 'agent-sdk' as const, issues };
          const heartbeat = aHeartbeat({ startedAt: at(startedAt).toISOString(), seq: 1, gap });
          return harness.store.heartbeat(anArrival(agent, { at: at(startedAt), heartbeat }));
        };
        await send(0, 30, 'tools.undeclared.x');
        await send(20, 100);
        await harness.restart();
        const status = (await find(agent, 20))?.status;
        expect(status).toMatchObject({
          ...{ grade: 'A', issuesTotal: 0 },
          worst: [
            {
              ...{ score: 30, grade: 'F', at: at(0).toISOString() },
              criticalIssues: [{ property: 'tools.undeclared.x', at: at(0).toISOString() }],
            },
          ],
        });
        expect(status?.conditions?.find(({ type }) => type === 'Compliant')).toMatchObject({
          ...{ status: 'False', reason: 'CriticalIssueRecently' },
        });
      });

      test('of a removed agent are rejected', async () => {
        const agent = await aRemoteAgent();
        await harness.store.remove(agent);
        expect(await harness.store.heartbeat(anArrival(agent))).toEqual({ kind: 'unknown' });
        expect(await find(agent)).toBeNull();
      });

      test('of a pod with the name of a registered agent do not change that agent', async () => {
        const agent = await aRemoteAgent();
        await harness.store.heartbeat(anArrival(agent, { heartbeat: aHeartbeat({ seq: 1 }) }));
        const before = await find(agent, 1);
        const pod = { source: 'sidecar', instance: 'shop-0', uid: 'uid-1', at: at(20) } as const;
        const arrival = anArrival(agent, { ...pod, heartbeat: unhealthy(1, 10) });
        expect(await harness.store.heartbeat(arrival)).toEqual({ kind: 'taken' });
        await harness.restart();
        expect(await find(agent, 1)).toEqual(before);
        expect(await harness.store.report(agent, 'shop-0', at(20))).toBeNull();
        const next = anArrival(agent, { at: at(40), heartbeat: aHeartbeat({ seq: 2 }) });
        expect(await kindOf(harness.store.heartbeat(next))).toBe('accepted');
      });

      test('of the pods of a workload are stored under its name, without replaced pods', async () => {
        const key = await aKey();
        await harness.workload(key);
        const send = (uid: string, seq: number, seconds: number) =>
          harness.store.heartbeat(
            anArrival(key, {
              source: 'sidecar',
              instance: 'shop-0',
              uid,
              at: at(seconds),
              heartbeat: aHeartbeat({ seq, totals: { tokensToday: 5 } }),
            }),
          );
        expect(await send('uid-1', 5, 0)).toMatchObject({ kind: 'accepted', record: { source: 'sidecar' } });
        // A recreated StatefulSet pod has the same name; its first heartbeat is not a repetition.
        expect(await send('uid-2', 1, 20)).toMatchObject({ kind: 'accepted' });
        expect((await find(key, 20))?.status).toMatchObject({
          instanceCount: 1,
          tokens: 10,
          instances: [{ uid: 'uid-2' }],
        });
      });
    });

    describe('reports', () => {
      const report = (key: AgentKey, instance: string | null, seconds: number) =>
        harness.store.report(key, instance, at(seconds));

      test('are from the worst live instance or from the requested instance', async () => {
        const agent = await aRemoteAgent();
        const usage = { windowStartedAt: at(0).toISOString(), models: [], totalTokens: 9, totalCalls: 1 };
        await harness.store.heartbeat(anArrival(agent, { heartbeat: aHeartbeat({ usage }) }));
        expect(await report(agent, null, 1)).toMatchObject({
          instance: 'i-1',
          receivedAt: at(0).toISOString(),
          gap: { score: 100, grade: 'A', source: 'agent-sdk', issues: [] },
          health: { status: 'healthy', checks: [] },
          usage,
        });
        const bad = unhealthy(1, 60);
        await harness.store.heartbeat(anArrival(agent, { instance: 'i-2', at: at(2), heartbeat: bad }));
        expect(await report(agent, null, 3)).toMatchObject({
          instance: 'i-2',
          receivedAt: at(2).toISOString(),
          gap: bad.gap,
          health: { status: 'unhealthy', summary: bad.health.summary, checks: bad.health.checks },
          usage: null,
        });
        expect(await report(agent, 'i-1', 3)).toMatchObject({
          instance: 'i-1',
          receivedAt: at(0).toISOString(),
          gap: { score: 100, grade: 'A' },
          health: { status: 'healthy' },
        });
        expect(await report(agent, 'i-3', 3)).toBeNull();
      });

      test('contain evidence and audit if the heartbeat contained them', async () => {
        const agent = await aRemoteAgent();
        const evidence: EvidenceReport = {
          ...{ shown: 0.5, declared: 2, reported: 1 },
          items: [
            { kind: 'tool', name: 'a', tier: 'reported', shownBy: 'x', lastSeen: at(0).toISOString() },
            { kind: 'tool', name: 'b', tier: 'none' },
          ],
        };
        const audit = { declared: 70, proved: 30, failed: ['MODEL-01'], suppressions: [] };
        await harness.store.heartbeat(anArrival(agent, { heartbeat: aHeartbeat({ evidence, audit }) }));
        expect(await report(agent, null, 1)).toMatchObject({ evidence, audit });
        const older = aHeartbeat({ ...unhealthy(1, 60), evidence: null, audit: null });
        await harness.store.heartbeat(anArrival(agent, { instance: 'i-2', at: at(2), heartbeat: older }));
        expect(await report(agent, null, 3)).toMatchObject({ evidence: null, audit: null });
        expect(await report(agent, 'i-1', 3)).toMatchObject({
          evidence: { shown: 0.5, declared: 2, reported: 1 },
          audit: { declared: 70, proved: 30 },
        });
      });

      test('contain what lanes and census observed, of which the status has the summary', async () => {
        const agent = await aRemoteAgent();
        await harness.store.heartbeat(anArrival(agent, { heartbeat: aHeartbeat({ egress: EGRESS }) }));
        expect((await report(agent, null, 1))?.egress).toEqual(EGRESS);
        expect((await find(agent, 1))?.status.egress).toEqual(EGRESS_SUMMARY);
        // A sender of an earlier version, and one without lanes and census.
        const older = aHeartbeat({ ...unhealthy(1, 60), egress: EGRESS_SUMMARY });
        await harness.store.heartbeat(anArrival(agent, { instance: 'i-2', at: at(2), heartbeat: older }));
        expect(await report(agent, null, 3)).toMatchObject({ instance: 'i-2', egress: EGRESS_SUMMARY });
        const none = aHeartbeat({ ...unhealthy(2, 60), egress: null });
        await harness.store.heartbeat(anArrival(agent, { instance: 'i-2', at: at(20), heartbeat: none }));
        expect(await report(agent, null, 21)).toMatchObject({ instance: 'i-2', egress: null });
      });

      test('contain the state of a census that is refused, which the status has not', async () => {
        const agent = await aRemoteAgent();
        const census = { state: 'refused', reason: 'the pod uses the network of its node' } as const;
        const { unseenEgress: _, unexplainedOpens: _opens, ...summary } = EGRESS_SUMMARY;
        const egress = { ...summary, census };
        await harness.store.heartbeat(anArrival(agent, { heartbeat: aHeartbeat({ egress }) }));
        expect((await report(agent, null, 1))?.egress).toEqual(egress);
        expect((await find(agent, 1))?.status).not.toHaveProperty('egress');
      });

      test('do not exist for an unknown agent', async () => {
        expect(await report(await aKey(), null, 0)).toBeNull();
      });
    });

    describe('proofs', () => {
      const put = (key: AgentKey, record: ProofRecord) =>
        harness.store.putProof({ ...keyOf(key), record, at: new Date(record.verifiedAt) });
      const remove = (key: AgentKey, ruleId: string, seconds: number) =>
        harness.store.removeProof({ ...keyOf(key), ruleId, at: at(seconds) });
      const proofsOf = async (key: AgentKey) => {
        const status = (await find(key))?.status;
        return { revision: status?.proofRevision, proofs: status?.proofs };
      };

      test('are stored, replaced and removed, each with a new revision, and persist across a restart', async () => {
        const agent = await aRemoteAgent();
        expect(await put(agent, aProof('MEM-01'))).toBe('stored');
        expect(await put(agent, aProof('MEM-01', 5))).toBe('stored');
        expect(await put(agent, aProof('EVAL-01', 6))).toBe('stored');
        await harness.restart();
        expect(await proofsOf(agent)).toEqual({
          revision: 3,
          proofs: [aProof('EVAL-01', 6), aProof('MEM-01', 5)],
        });
        expect(await remove(agent, 'MEM-01', 7)).toBe('removed');
        await harness.restart();
        expect(await proofsOf(agent)).toEqual({ revision: 4, proofs: [aProof('EVAL-01', 6)] });
        expect(await remove(agent, 'MEM-01', 8)).toBe('no-proof');
      });

      test('of an unknown agent are rejected', async () => {
        const key = await aKey();
        expect(await put(key, aProof('MEM-01'))).toBe('unknown-agent');
        expect(await remove(key, 'MEM-01', 0)).toBe('unknown-agent');
      });

      test('are stored from heartbeats; a removed proof is not restored', async () => {
        const agent = await aRemoteAgent();
        const sent = (seq: number, seconds: number) =>
          harness.store.heartbeat(
            anArrival(agent, {
              at: at(seconds),
              heartbeat: aHeartbeat({ seq, proof: [aProof('MEM-01', seconds, 'local')] }),
            }),
          );
        await sent(1, 1);
        await harness.restart();
        expect(await proofsOf(agent)).toEqual({ revision: 1, proofs: [aProof('MEM-01', 1, 'local')] });
        await remove(agent, 'MEM-01', 5);
        await sent(2, 20);
        await harness.restart();
        expect(await proofsOf(agent)).toEqual({ revision: 2, proofs: [] });
        await put(agent, aProof('MEM-01', 30));
        expect(await proofsOf(agent)).toEqual({ revision: 3, proofs: [aProof('MEM-01', 30)] });
      });

      const forged = (origin: ProofRecord['origin']): ProofRecord => {
        const { origin: _, ...record } = { ...aProof('MEM-01', 15), method: 'forged' };
        return origin === undefined ? record : { ...record, origin };
      };
      test.each<[string, Partial<Heartbeat>]>([
        ['changed as local', { proof: [forged('local')], proofRevision: 1 }],
        ['changed as one of the control plane', { proof: [forged('control-plane')], proofRevision: 1 }],
        ['changed without origin', { proof: [forged(undefined)], proofRevision: 1 }],
        ['changed by who knows no revision', { proof: [forged('local')] }],
        ['erased by an empty list', { proof: [], proofRevision: 1 }],
        ['erased by an empty list and a later revision', { proof: [], proofRevision: 9 }],
      ])('of the control plane are not %s in a heartbeat', async (_title, rest) => {
        const agent = await aRemoteAgent();
        await put(agent, aProof('MEM-01', 1));
        const outcome = harness.store.heartbeat(
          anArrival(agent, { at: at(20), heartbeat: aHeartbeat(rest) }),
        );
        expect(await kindOf(outcome)).toBe('accepted');
        await harness.restart();
        expect(await proofsOf(agent)).toEqual({ revision: 1, proofs: [aProof('MEM-01', 1)] });
      });

      test.each(['local', 'control-plane', undefined] as const)(
        'of the control plane that were removed are not restored by a heartbeat with one of origin %s',
        async (origin) => {
          const agent = await aRemoteAgent();
          await put(agent, aProof('MEM-01', 1));
          await remove(agent, 'MEM-01', 5);
          const heartbeat = aHeartbeat({ proof: [forged(origin)], proofRevision: 2 });
          await harness.store.heartbeat(anArrival(agent, { at: at(20), heartbeat }));
          await harness.restart();
          expect(await proofsOf(agent)).toEqual({ revision: 2, proofs: [] });
        },
      );

      test('of the control plane are not created by a heartbeat', async () => {
        const agent = await aRemoteAgent();
        const heartbeat = aHeartbeat({ proof: [forged('control-plane')], proofRevision: 3 });
        const outcome = await harness.store.heartbeat(anArrival(agent, { at: at(20), heartbeat }));
        expect(outcome).toMatchObject({ kind: 'accepted' });
        expect((await find(agent))?.status.proofs ?? []).toEqual([]);
      });

      test('that a heartbeat reported as local are removed by the sender that had received them', async () => {
        const agent = await aRemoteAgent();
        const send = (seq: number, rest: Partial<Heartbeat>) =>
          harness.store.heartbeat(
            anArrival(agent, { at: at(seq * 20), heartbeat: aHeartbeat({ seq, ...rest }) }),
          );
        await put(agent, aProof('EVAL-01', 1));
        await send(1, { proof: [aProof('MEM-01', 15, 'local')], proofRevision: 1 });
        expect((await proofsOf(agent)).proofs).toEqual([aProof('EVAL-01', 1), aProof('MEM-01', 15, 'local')]);
        await send(2, { proof: [], proofRevision: 2 });
        await harness.restart();
        expect(await proofsOf(agent)).toEqual({ revision: 3, proofs: [aProof('EVAL-01', 1)] });
      });
    });

    describe('the list', () => {
      const idsOf = (agents: AgentRecord[]) => agents.map((agent) => agent.name);

      test('is ordered, paged and filtered, with the total count', async () => {
        const namespace = await harness.namespace();
        const keys = ['c', 'a', 'e', 'b', 'd'].map((letter) => ({ namespace, name: `list-${letter}` }));
        for (const key of keys) await harness.store.register(aRegistration(key), at(0));
        await harness.store.heartbeat(anArrival(keys[0]!));
        await harness.store.heartbeat(anArrival(keys[1]!, { heartbeat: unhealthy(1, 80) }));
        const list = (query: Partial<Parameters<Store['list']>[0]>) =>
          harness.store.list({ limit: 100, after: null, namespaces: [namespace], ...query }, at(1));

        const first = await list({ limit: 2 });
        expect(first).toMatchObject({ total: 5, next: { namespace, name: 'list-b' } });
        const second = await list({ limit: 2, after: first.next });
        const last = await list({ limit: 2, after: second.next });
        expect([first, second, last].map((page) => idsOf(page.agents))).toEqual([
          ['list-a', 'list-b'],
          ['list-c', 'list-d'],
          ['list-e'],
        ]);
        expect(last).toMatchObject({ total: 5, next: null });
        expect((await list({ limit: 5 })).next).toBeNull();

        expect(idsOf((await list({ phase: 'Healthy' })).agents)).toEqual(['list-c']);
        expect(idsOf((await list({ grade: 'B' })).agents)).toEqual(['list-a']);
        expect(await list({ phase: 'Healthy', grade: 'B' })).toEqual({ agents: [], total: 0, next: null });
        expect((await list({ phase: 'Pending', limit: 1 })).total).toBe(3);
      });

      test('continues after a page whose last agent was removed', async () => {
        const namespace = await harness.namespace();
        for (const letter of ['a', 'b', 'c'])
          await harness.store.register(aRegistration({ namespace, name: `gone-${letter}` }), at(0));
        const first = await harness.store.list({ limit: 2, after: null, namespaces: [namespace] }, at(0));
        await harness.store.remove(first.next!);
        const rest = await harness.store.list(
          { limit: 2, after: first.next, namespaces: [namespace] },
          at(0),
        );
        expect(idsOf(rest.agents)).toEqual(['gone-c']);
      });

      test('of all namespaces is ordered by namespace, then name', async () => {
        const { agents } = await harness.store.list({ limit: 1000, after: null, namespaces: null }, at(0));
        const texts = agents.map((agent) => `${agent.namespace}\u0000${agent.name}`);
        expect(texts.length).toBeGreaterThan(5);
        expect(texts).toEqual([...texts].sort());
        const namespaces = [...new Set(agents.map((agent) => agent.namespace))];
        expect(await harness.store.namespaces()).toEqual(namespaces);
      });

      test('of some namespaces has and counts only their agents', async () => {
        const [one, two, three] = [
          await harness.namespace(),
          await harness.namespace(),
          await harness.namespace(),
        ];
        for (const namespace of [one, two, three])
          await harness.store.register(aRegistration({ namespace, name: `some-${namespace}` }), at(0));
        const list = async (...namespaces: string[]) => {
          const page = await harness.store.list({ limit: 2, after: null, namespaces }, at(0));
          return [page.total, page.agents.map((agent) => agent.namespace)];
        };
        expect(await list(one)).toEqual([1, [one]]);
        expect(await list(one, three)).toEqual([2, [one, three].sort()]);
        expect(await list(two, 'unknown', 'another')).toEqual([1, [two]]);
        expect(await list()).toEqual([0, []]);
      });
    });

    describe('removal', () => {
      test('deletes the agent, its tokens and its reports; its name can be registered again', async () => {
        const agent = await aRemoteAgent();
        const grant = { ...keyOf(agent), agentId: agent.agentId, token: aToken('a'), at: at(0) };
        await harness.store.addToken(grant);
        await harness.store.heartbeat(anArrival(agent));
        expect(await harness.store.remove(keyOf(agent))).toBe('removed');
        expect(await harness.store.remove(keyOf(agent))).toBe('unknown-agent');
        expect(await find(agent)).toBeNull();
        expect(await harness.store.hasToken(grant)).toBe(false);
        expect(await harness.store.report(agent, null, at(0))).toBeNull();
        const again = await harness.store.register(aRegistration(keyOf(agent)), at(0));
        expect(again).toMatchObject({ kind: 'created', record: { status: { phase: 'Pending' } } });
        expect(again).not.toMatchObject({ record: { agentId: agent.agentId } });
        expect(await harness.store.report(agent, null, at(0))).toBeNull();
      });

      test('of an unknown agent changes nothing', async () => {
        expect(await harness.store.remove(await aKey())).toBe('unknown-agent');
      });

      test('of a workload is rejected while the cluster has it; without a cluster it is removed', async () => {
        const key = await aKey();
        await harness.workload(key);
        const pod = { source: 'sidecar', instance: 'shop-0', uid: 'uid-1' } as const;
        expect(await kindOf(harness.store.heartbeat(anArrival(key, pod)))).toBe('accepted');
        expect(await harness.store.remove(key)).toBe(harness.hasCluster ? 'workload' : 'removed');
        expect((await find(key)) !== null).toBe(harness.hasCluster);
        const next = anArrival(key, { ...pod, at: at(20), heartbeat: aHeartbeat({ seq: 2 }) });
        expect(await kindOf(harness.store.heartbeat(next))).toBe('accepted');
        expect((await find(key, 20))?.status).toMatchObject({ phase: 'Healthy', instanceCount: 1 });
      });
    });

    changesContract(() => harness);
  });
}
