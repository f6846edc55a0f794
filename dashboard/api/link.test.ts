import { expect, test } from '@jest/globals';
import { nextOf } from './link.ts';

test.each([
  ['</api/v1/agents?limit=2&continue=YQ>; rel="next"', '/api/v1/agents?limit=2&continue=YQ'],
  ['</a>;rel=next', '/a'],
  ['</a>; rel="prev"', null],
  ['', null],
  [null, null],
])('the next page of %j is %j', (header, path) => expect(nextOf(header)).toBe(path));
