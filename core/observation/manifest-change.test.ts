import { describe, expect, test } from '@jest/globals';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import type { CompareManifests } from './manifest-change.ts';
import { mergeHeartbeat } from './merge-heartbeat.ts';
import { withoutGone } from './status-of.ts';
import { isUrgent } from './write-due.ts';

const START = Date.parse('2026-03-01T10:00:00.000Z');
const at = (seconds: number) => new Date(START + seconds * 1_000);
const compare: CompareManifests = (from, to) => ({
  severity: 'HIGH',
  scoreChange: -15,
  descriptions: [`${from} removed`, `${to} added`],
});

/** The statuses after heartbeats `<instance> <manifest>`, one per second; `-<instance>` removes an instance. */
function statusesAfter(steps: string[], given: CompareManifests | undefined = compare): ObservationStatus[] {
  const statuses: ObservationStatus[] = [];
  for (const [seq, step] of steps.entries()) {
    const [instance = '', manifest = ''] = step.split(' ');
    const before = statuses.at(-1);
    const manifestHash = manifest === '' ? null : manifest;
    statuses.push(
      instance.startsWith('-')
        ? withoutGone(before ?? { phase: 'Pending' }, ({ name }) => `-${name}` !== instance, at(seq))
        : mergeHeartbeat(
            before,
            aHeartbeat({ instance, seq, manifestHash, startedAt: at(-1).toISOString() }),
            { instance, ...(given && { compare: given }) },
            at(seq),
          ),
    );
  }
  return statuses;
}

const changesIn = (steps: string[]): string[] => {
  const seen = statusesAfter(steps).flatMap(({ manifestChange }) => manifestChange ?? []);
  return [...new Map(seen.map((each) => [each.at, `${each.from} -> ${each.to}`])).values()];
};

describe('a change of the manifest', () => {
  test.each<[string, string[], string[]]>([
    ['is not the first report', ['p A', 'p A'], []],
    ['is another manifest of one instance', ['p A', 'p B', 'p B'], ['A -> B']],
    ['is each further manifest', ['p A', 'p B', 'p C'], ['A -> B', 'B -> C']],
    ['is a change back', ['p A', 'p B', 'p A'], ['A -> B', 'B -> A']],
    ['is not an instance without a manifest', ['p A', 'q', 'p A'], []],
    [
      'is recorded once in a rollout by new pods',
      ['p A', 'q A', 'r B', 'p A', 'r B', 'q A', '-p', 's B', 'q A', '-q', 'r B'],
      ['A -> B'],
    ],
    [
      'is recorded once in a rollout by a changed volume',
      ['p A', 'q A', 'r A', 'p B', 'q A', 'r A', 'q B', 'p B', 'r B'],
      ['A -> B'],
    ],
    ['is not an old pod that is created again', ['p A', 'q A', 'r B', '-p', 's A', 'r B', 's A'], ['A -> B']],
    ['is a rollout that was undone', ['p A', 'q B', 'p A', '-q', 'p A'], ['A -> B', 'B -> A']],
    ['is found after all pods were replaced', ['p A', '-p', 'q B'], ['A -> B']],
  ])('%s', (_, steps, expected) => {
    expect(changesIn(steps)).toEqual(expected);
  });

  test('has the differences with their weight', () => {
    expect(statusesAfter(['p A', 'p B']).at(-1)?.manifestChange).toEqual({
      ...{ at: at(1).toISOString(), from: 'A', to: 'B', severity: 'HIGH', scoreChange: -15 },
      summary: 'HIGH, -15 points: A removed; B added',
    });
  });

  test('has the two hashes and says so if what changed is not known', () => {
    expect(statusesAfter(['p A', 'p B'], () => undefined).at(-1)?.manifestChange).toEqual({
      ...{ at: at(1).toISOString(), from: 'A', to: 'B' },
      summary: 'what changed is not known, because the control plane does not have both manifests',
    });
  });

  test.each([
    [[], 'no declaration changed'],
    [Array(7).fill('x'.repeat(500)), /^LOW, 0 points: (x{90}; ){5}2 more$/],
  ])('names at most five differences', (descriptions, summary) => {
    const few: CompareManifests = () => ({ severity: 'LOW', scoreChange: 0, descriptions });
    const found = statusesAfter(['p A', 'p B'], few).at(-1)?.manifestChange?.summary ?? '';
    expect(found).toMatch(summary);
    expect(found.length).toBeLessThanOrEqual(500);
  });

  test('is written at once', () => {
    const [first, same, changed] = statusesAfter(['p A', 'p A', 'p B']);
    expect([isUrgent(first, same!), isUrgent(same, changed!)]).toEqual([false, true]);
  });

  test('is not found for an instance that is not listed', () => {
    const [before] = statusesAfter(['p A']);
    const brief = { ...before!.instances![0]!, name: 'q' };
    const unlisted = { ...before!, unlisted: [brief] };
    const beat = (instance: string) =>
      mergeHeartbeat(
        unlisted,
        aHeartbeat({ instance, seq: 9, manifestHash: 'B' }),
        { instance, compare },
        at(1),
      );
    expect(beat('q').manifestChange).toBeUndefined();
    expect(beat('r').manifestChange).toMatchObject({ from: 'A', to: 'B' });
  });
});
