import { expect, test } from '@jest/globals';
import { ANNOTATION_VALUES } from '../../testing/cluster/annotation-values.ts';
import { ANNOTATIONS, DEFAULTED, readAnnotations } from './annotations.ts';

test.each(Object.entries(ANNOTATION_VALUES))('%s accepts and rejects %j', (key, { good, bad }) => {
  const { name } = ANNOTATIONS[key as keyof typeof ANNOTATIONS];
  const isAccepted = (raw: string) => readAnnotations({ [name]: raw }).ok;
  expect(good.filter((raw) => !isAccepted(raw))).toEqual([]);
  expect(bad.filter(isAccepted)).toEqual([]);
});

test.each(DEFAULTED)('the chart default of %s is a value of the annotation', (_key, row) => {
  expect(row.read(String(row.chart.default))).toEqual({ ok: true, value: row.chart.default });
});

test('ignores property names that every object inherits', () => {
  expect(readAnnotations({ constructor: 'x', toString: 'y' })).toEqual({ ok: true, values: {} });
});
