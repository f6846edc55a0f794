import { expect, test } from '@jest/globals';
import { sparkPoints } from './spark-points.ts';

test.each([
  ['spreads the values over the width and the height', [0, 100], '0,20 60,0'],
  ['puts equal values in the middle', [80, 80, 80], '0,10 30,10 60,10'],
  ['keeps a small change small', [100, 98], '0,9 60,11'],
  ['draws zeros', [0, 0], '0,10 60,10'],
  ['draws one value', [50], '0,10'],
])('the line %s', (_title, values, points) => expect(sparkPoints(values, 60, 20)).toBe(points));
