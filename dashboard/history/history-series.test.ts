import { describe, expect, test } from '@jest/globals';
import { gradeOf } from '../../core/shapes/grade.ts';
import { CHANGE_KINDS, type HistoryChange, type HistoryPoint } from '../../core/shapes/history.ts';
import { formatTime } from '../format.ts';
import { changeText, historySeries, marksOf, momentsOf, queryOf, RANGES } from './history-series.ts';

const point = (at: string, more: Partial<HistoryPoint> = {}): HistoryPoint => {
  const { score = 90 } = more;
  return {
    ...{ at, heartbeats: 1, score, scoreMin: score, scoreMax: score, grade: gradeOf(score) },
    ...{ phase: 'Healthy', tokens: 10, costUsd: 0 },
    outcomes: { allow: 4, deny: 3, failOpen: 2, notEvaluated: 1 },
    ...more,
  };
};
const timesOf = (points: HistoryPoint[], step: 'heartbeat' | 'hour' | 'day'): string[] =>
  historySeries({ step, points }).times.map((time) => new Date(time).toISOString().slice(11, 19));

describe('columns', () => {
  test('contain the values of the points', () => {
    const { times: _, ...columns } = historySeries({
      step: 'hour',
      points: [point('2026-03-01T10:00:00Z', { score: 85, scoreMin: 80, scoreMax: 90, costUsd: 0.5 })],
    });
    expect(columns).toEqual({
      ...{ score: [85], scoreMin: [80], scoreMax: [90], tokens: [10], costUsd: [0.5] },
      ...{ allow: [4], deny: [3], failOpen: [2], notEvaluated: [1] },
      ...{ hasCost: true, hasSpread: true },
    });
  });

  test('know that there is neither cost nor spread', () => {
    expect(historySeries({ step: 'day', points: [point('2026-03-01T00:00:00Z')] })).toMatchObject({
      ...{ hasCost: false, hasSpread: false },
    });
  });

  test('have a gap where an hour has no heartbeat', () => {
    const points = [
      point('2026-03-01T10:00:00Z'),
      point('2026-03-01T11:00:00Z'),
      point('2026-03-01T14:00:00Z'),
    ];
    expect(timesOf(points, 'hour')).toEqual(['10:00:00', '11:00:00', '12:30:00', '14:00:00']);
    expect(historySeries({ step: 'hour', points }).tokens).toEqual([10, 10, null, 10]);
  });

  test('have a gap where heartbeats are missing for two minutes', () => {
    const until = (last: string): HistoryPoint[] =>
      ['10:00:00', '10:00:30', '10:01:00', '10:01:30', last].map((time) => point(`2026-03-01T${time}Z`));
    expect(timesOf(until('10:03:30'), 'heartbeat')).toHaveLength(5);
    expect(timesOf(until('10:03:32'), 'heartbeat')).toEqual([
      ...['10:00:00', '10:00:30', '10:01:00', '10:01:30', '10:02:31'],
      '10:03:32',
    ]);
  });

  test('have no gap between heartbeats that instances send together, at any interval', () => {
    const points = ['10:00:00', '11:00:00', '12:00:00'].flatMap((time) => [
      point(`2026-03-01T${time}.000Z`),
      point(`2026-03-01T${time}.005Z`),
    ]);
    expect(historySeries({ step: 'heartbeat', points }).tokens).not.toContain(null);
  });

  test('have one row for points of the same millisecond', () => {
    const at = '2026-03-01T10:00:00Z';
    const { score } = historySeries({ step: 'heartbeat', points: [point(at), point(at, { score: 70 })] });
    expect(score).toEqual([70]);
  });

  test('are empty without points', () => {
    expect(historySeries({ step: 'heartbeat', points: [] }).times).toEqual([]);
  });
});

describe('changes', () => {
  const change = (kind: HistoryChange['kind'], from: string | null, to: string | null): HistoryChange => ({
    ...{ at: '2026-03-01T10:00:00Z', kind },
    ...{ from, to },
  });

  test.each([
    [change('grade', 'A', 'B'), 'Grade A → B'],
    [change('phase', null, 'Healthy'), 'Phase Healthy'],
    [change('version', '0.1.0', null), 'Version 0.1.0 → none'],
    [change('policy-mode', 'track', 'enforce'), 'Policy mode track → enforce'],
    [change('manifest', 'sha256:0123456789abcdef', 'fedcba9876543210'), 'Manifest 01234567 → fedcba98'],
    [
      { ...change('manifest', 'a', 'b'), summary: 'LOW, -1 points: x added' },
      'Manifest a → b (LOW, -1 points: x added)',
    ],
    [
      { ...change('stop', null, 'a/b'), summary: 'by alice, until 2026-03-02T22:30:00.000Z: leak' },
      `Stop a/b (by alice, until ${formatTime('2026-03-02T22:30:00.000Z')}: leak)`,
    ],
  ])('%j', (each, text) => {
    expect(changeText(each)).toBe(text);
  });

  test('every kind has a noun', () => {
    expect(CHANGE_KINDS.map((kind) => changeText(change(kind, null, 'x'))).join()).not.toContain('undefined');
  });

  test('of the same time are one mark', () => {
    const later = { ...change('grade', 'B', 'A'), at: '2026-03-01T11:00:00Z' };
    const moments = momentsOf([change('grade', 'A', 'B'), change('phase', 'Healthy', 'Degraded'), later]);
    expect(marksOf(moments)).toEqual([
      { at: Date.parse('2026-03-01T10:00:00Z'), label: 'Grade A → B, Phase Healthy → Degraded' },
      { at: Date.parse('2026-03-01T11:00:00Z'), label: 'Grade B → A' },
    ]);
  });

  test('of the first heartbeat have one short label', () => {
    const moments = momentsOf([change('phase', null, 'Healthy'), change('grade', null, 'A')]);
    expect(marksOf(moments).map(({ label }) => label)).toEqual(['First heartbeat']);
  });
});

describe('ranges', () => {
  test('begin at a full hour', () => {
    const now = new Date('2026-03-10T10:59:59Z');
    expect(RANGES.map(({ id }) => queryOf(id, now))).toEqual([
      { step: 'heartbeat' },
      { step: 'hour', from: '2026-03-09T10:00:00.000Z' },
      { step: 'hour', from: '2026-03-03T10:00:00.000Z' },
      { step: 'day', from: '2026-02-08T10:00:00.000Z' },
      { step: 'day', from: '2025-02-03T10:00:00.000Z' },
    ]);
  });
});
