import { describe, expect, test } from '@jest/globals';
import { annotationMistakesOf } from './annotation-mistakes.ts';
import { ANNOTATION_MISTAKES, workloadOfKind } from '../../testing/cluster/annotation-mistakes.ts';

describe('annotationMistakesOf', () => {
  test.each(ANNOTATION_MISTAKES)('%s', (_what, { kind = 'Deployment', ...where }, found) => {
    const mistakes = annotationMistakesOf(workloadOfKind(kind, where));
    expect(mistakes.map(({ what, key, meant, place }) => [what, key, meant, place])).toEqual(found);
  });

  test('names the object', () => {
    const [mistake] = annotationMistakesOf(workloadOfKind('CronJob', { inner: { 'platform.io/x': '' } }));
    expect(mistake).toMatchObject({
      kind: 'CronJob',
      namespace: 'team',
      name: 'chat',
    });
  });

  test.each([
    [null],
    [{}],
    [
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: 3,
        spec: { template: null },
      },
    ],
  ])('finds nothing in %j', (object) => {
    expect(annotationMistakesOf(object)).toEqual([]);
  });
});
