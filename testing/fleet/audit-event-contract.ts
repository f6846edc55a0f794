import { describe, expect, test } from '@jest/globals';
import type {
  AuditEventQuery,
  AuditEventStore,
  AuditPosition,
  AuditRow,
} from '../../control-plane/stores/audit-events.ts';
import { expireAuditEvents } from '../../control-plane/stores/sql/audit-event-table.ts';
import { expireAuditHeads } from '../../control-plane/stores/sql/audit-head-table.ts';
import type { SqlDatabase } from '../../control-plane/stores/sql/sql-database.ts';
import type { AgentKey, Store } from '../../control-plane/stores/store.ts';
import type { AuditLog } from '../../core/shapes/audit-log.ts';
import { aHeartbeat } from './heartbeat.ts';

const START = Date.UTC(2026, 2, 1, 10);
const SHOP = { namespace: 'retail', name: 'shop' };
const CHAT = { namespace: 'support', name: 'chat' };

/** An event some seconds after the start; its line is its uid. */
const aRow = (uid: string, seconds: number, rest: Partial<AuditRow> = {}): AuditRow => ({
  ...{ key: SHOP, uid, at: new Date(START + seconds * 1_000), kind: 'request', outcome: 'allow' },
  ...{ user: null, tools: [], line: `{"uid":"${uid}"}` },
  ...rest,
});

/** The rows of the tests, oldest first. */
const ROWS: readonly AuditRow[] = [
  aRow('a', 0),
  aRow('b', 1, { user: 'ada', kind: 'tool', tools: ['refund', 'lookup'] }),
  aRow('c', 2, { user: 'bob', kind: 'model', outcome: 'deny', tools: ['refund'] }),
  aRow('d', 3, { key: CHAT, user: 'ada', outcome: 'deny' }),
  aRow('e', 3, { key: { namespace: 'support', name: 'shop' }, kind: 'lifecycle', outcome: null }),
  aRow('f', 4, { key: CHAT, kind: 'tool', tools: ['lookup'], user: 'x'.repeat(3_000) }),
];

/** The contract of `Store.auditEvents`, a part of the contract of every SQL store. The tests depend on each other. */
export function auditEventContract(
  harness: () => { readonly store: Store; readonly database: SqlDatabase; restart(): Promise<void> },
): void {
  const events = (): AuditEventStore => {
    const { auditEvents } = harness().store;
    if (auditEvents === null) throw new Error('the store has no audit events');
    return auditEvents;
  };
  const uidsOf = (lines: readonly string[]): string =>
    lines.map((line) => (JSON.parse(line) as { uid: string }).uid).join('');
  const found = async (query: Partial<AuditEventQuery> = {}): Promise<string> =>
    uidsOf((await events().find({ namespaces: null, limit: 100, after: null, ...query })).lines);
  const seconds = (count: number): Date => new Date(START + count * 1_000);

  describe('audit events', () => {
    test('are stored once for each uid of an agent, also across a restart', async () => {
      expect(await found()).toBe('');
      expect(await events().add(ROWS)).toBe(ROWS.length);
      expect(await events().add([aRow('a', 9), aRow('d', 3, { key: CHAT, kind: 'other' })])).toBe(0);
      await harness().restart();
      expect(await found()).toBe('fedcba');
    });

    test.each<[Partial<AuditEventQuery>, string]>([
      [{ agent: 'shop' }, 'ecba'],
      [{ agent: 'shop', namespaces: ['retail'] }, 'cba'],
      [{ namespaces: ['support'] }, 'fed'],
      [{ namespaces: ['support', 'retail', 'other'] }, 'fedcba'],
      [{ namespaces: [] }, ''],
      [{ user: 'ada' }, 'db'],
      [{ user: 'ADA' }, ''],
      [{ user: '' }, ''],
      [{ user: 'x'.repeat(3_000) }, 'f'],
      [{ tool: 'refund' }, 'cb'],
      [{ tool: 'lookup' }, 'fb'],
      [{ tool: 'lookup', namespaces: ['support'] }, 'f'],
      [{ tool: 'refund', user: 'ada', agent: 'shop', kind: 'tool', outcome: 'allow' }, 'b'],
      [{ tool: 'refund', since: seconds(2) }, 'c'],
      [{ tool: '%' }, ''],
      [{ outcome: 'deny' }, 'dc'],
      [{ kind: 'tool' }, 'fb'],
      [{ since: seconds(2), until: seconds(4) }, 'edc'],
      [{ since: seconds(5) }, ''],
      [{ limit: 2 }, 'fe'],
    ])('%j', async (query, uids) => {
      expect(await found(query)).toBe(uids);
    });

    test.each<Partial<AuditEventQuery>>([{}, { tool: 'refund' }, { namespaces: ['retail', 'support'] }])(
      'pages of %j have each event once, also of the same time, and end',
      async (query) => {
        const pages: string[] = [];
        let after: AuditPosition | null = null;
        do {
          const page = await events().find({ namespaces: null, limit: 1, ...query, after });
          pages.push(uidsOf(page.lines));
          after = page.next;
        } while (after !== null);
        expect(pages.every((page) => page.length === 1)).toBe(true);
        expect(pages.join('')).toBe(await found(query));
      },
    );

    test('are stored all or not at all', async () => {
      const broken = { ...aRow('h', 6), line: null as unknown as string };
      await expect(events().add([aRow('g', 5), broken])).rejects.toThrow();
      expect(await found({ since: seconds(5) })).toBe('');
    });

    test('outlive their agent', async () => {
      const at = seconds(10);
      await harness().store.register({ ...CHAT, runtime: 'docker', manifest: null }, at);
      expect(await harness().store.remove(CHAT)).toBe('removed');
      expect(await found({ agent: 'chat' })).toBe('fd');
    });

    test('are deleted in steps, with their tools', async () => {
      const many = Array.from({ length: 2_000 }, (_, index) =>
        aRow(`old-${index}`, -1_000 - index, { tools: ['ancient'] }),
      );
      for (let start = 0; start < many.length; start += 500)
        await events().add(many.slice(start, start + 500));
      const expire = () =>
        harness().database.transaction((session) => expireAuditEvents(session, seconds(0)));
      expect(await expire()).toBe(true);
      expect(await expire()).toBe(false);
      expect(await found({ limit: 1_000 })).toBe('fedcba');
      const [tools] = await harness().database.read((session) =>
        session.all<{ count: number }>(
          "SELECT count(*) AS count FROM audit_event_tool WHERE tool = 'ancient'",
        ),
      );
      expect(tools).toEqual({ count: 0 });
    });
  });

  describe('heads of audit logs', () => {
    const key: AgentKey = { namespace: 'retail', name: 'heads' };
    const aLog = (sequence: number, rest: Partial<AuditLog> = {}): AuditLog => ({
      ...{ chain: 'pod-1/m1', sequence, head: String(sequence % 10).repeat(64), dropped: 0, failures: 0 },
      ...{ at: new Date(START).toISOString(), written: sequence },
      ...rest,
    });
    let seq = 0;
    const beat = async (minutes: number, auditLog: AuditLog): Promise<void> => {
      const at = seconds(minutes * 60);
      const heartbeat = aHeartbeat({ seq: (seq += 1), auditLog });
      const outcome = await harness().store.heartbeat({
        ...{ ...key, source: 'sidecar', instance: 'pod-1', uid: 'u', heartbeat, at },
      });
      expect(outcome.kind).toBe('accepted');
    };
    const heads = async (limit = 100): Promise<[string, number, string][]> =>
      (await events().heads(key, limit)).map(({ chain, sequence, receivedAt }) => [
        chain,
        sequence,
        receivedAt,
      ]);

    test('the last one of each chain and hour, newest first', async () => {
      await beat(0, aLog(10));
      await beat(30, aLog(20));
      await beat(60, aLog(30));
      await beat(61, aLog(1, { chain: 'pod-1/m2' }));
      const known = [
        ['pod-1/m2', 1, '2026-03-01T11:01:00.000Z'],
        ['pod-1/m1', 30, '2026-03-01T11:00:00.000Z'],
        ['pod-1/m1', 20, '2026-03-01T10:30:00.000Z'],
      ];
      expect(await heads()).toEqual(known);
      expect(await heads(1)).toEqual(known.slice(0, 1));
      await harness().restart();
      const [newest] = await events().heads(key, 1);
      expect(newest).toEqual({ ...aLog(1, { chain: 'pod-1/m2' }), receivedAt: '2026-03-01T11:01:00.000Z' });
    });

    test('a rewritten or shorter chain does not replace a head', async () => {
      await beat(62, aLog(1, { chain: 'pod-1/m2', head: 'f'.repeat(64) }));
      await beat(63, aLog(29));
      expect((await events().heads(key, 100)).map(({ sequence, head }) => [sequence, head[0]])).toEqual([
        [1, '1'],
        [30, '0'],
        [20, '0'],
      ]);
    });

    test('outlive their agent until they are deleted', async () => {
      expect(await harness().store.remove(key)).toBe('removed');
      expect(await heads()).toHaveLength(3);
      const before = new Date('2026-03-01T11:00:00.000Z');
      await harness().database.transaction((session) => expireAuditHeads(session, before));
      expect((await heads()).map(([, sequence]) => sequence)).toEqual([1, 30]);
    });
  });
}
