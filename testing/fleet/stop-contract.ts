import { describe, expect, test } from '@jest/globals';
import type { StopRows, Store } from '../../control-plane/stores/store.ts';
import type { AgentStop } from '../../core/organisation/stops.ts';

/** A stop that began some seconds after the others. */
const aStop = (name: string, seconds: number, spec: Partial<AgentStop['spec']> = {}): AgentStop => ({
  ...{ namespace: 'team', name, since: new Date(Date.UTC(2026, 2, 1, 10, 0, seconds)).toISOString() },
  spec: { reason: 'leak', ...spec },
});

/** The contract of `Store.stops`, a part of the contract of every SQL store. The tests depend on each other. */
export function stopContract(harness: () => { readonly store: Store; restart(): Promise<void> }): void {
  describe('stops', () => {
    const rows = (): StopRows => {
      const { stops } = harness().store;
      if (stops === undefined) throw new Error('the store has no stops');
      return stops;
    };
    const all = async (): Promise<AgentStop[]> => (await rows().read(null))?.stops ?? [];
    const full = aStop('full', 0, {
      ...{
        agents: ['shop', 'chat-*'],
        namespaces: ['prod-*'],
        by: 'alice',
        until: '2026-03-01T11:00:00.000Z',
      },
    });

    test('are stored with every member, also across a restart', async () => {
      expect(await all()).toEqual([]);
      await rows().add(full);
      await rows().add(aStop('short', 1));
      await harness().restart();
      expect(await all()).toEqual([full, aStop('short', 1)]);
    });

    test('have a revision that each change changes, and that is read without them', async () => {
      const before = await rows().read(null);
      const revisions = [before?.revision ?? ''];
      expect(await rows().read(revisions[0] ?? '')).toBeNull();
      // The same number of stops as before.
      for (const change of [rows().remove(aStop('short', 1)), rows().add(aStop('other', 2))]) {
        await change;
        const read = await rows().read(revisions.at(-1) ?? '');
        revisions.push(read?.revision ?? '');
      }
      expect(new Set(revisions).size).toBe(3);
    });

    test('of a known name are added once', async () => {
      await rows().add({ ...full, spec: { reason: 'another one' } });
      expect(await all()).toEqual([full, aStop('other', 2)]);
    });

    test('are removed once', async () => {
      expect([await rows().remove(aStop('other', 2)), await rows().remove(aStop('other', 2))]).toEqual([
        true,
        false,
      ]);
    });

    test('that have ended are removed when one is added', async () => {
      const late = aStop('late', 3_600);
      await rows().add(late);
      expect(await all()).toEqual([late]);
    });
  });
}
