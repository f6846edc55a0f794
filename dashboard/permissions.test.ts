import { describe, expect, test } from '@jest/globals';
import type { Me, Right } from '../core/shapes/actor.ts';
import { ADMIN, may, mayReadSome, nameOf } from './permissions.ts';

const NOTHING: Me['can'] = { read: [], stop: [], resume: [], prove: [], admin: false };
const READ_KEY: Me = { ...ADMIN, method: 'read-key', can: { ...NOTHING, read: '*' } };
const OPERATOR: Me = {
  ...{ method: 'session', iss: 'https://id.example', sub: 'u1', name: 'Alice', overage: false, until: null },
  can: { ...NOTHING, read: '*', stop: ['shop'], resume: ['shop', 'lab'] },
};

interface RightCase {
  title: string;
  me: Me | null;
  right: Right;
  namespace: string;
  isAllowed: boolean;
}

const row = (
  title: string,
  me: Me | null,
  [right, namespace]: [Right, string],
  isAllowed: boolean,
): RightCase => ({
  ...{ title, me, right, namespace, isAllowed },
});

describe('a right', () => {
  test.each<RightCase>([
    row('the admin key may stop', ADMIN, ['stop', 'shop'], true),
    row('the read key may read', READ_KEY, ['read', 'shop'], true),
    row('the read key may not stop', READ_KEY, ['stop', 'shop'], false),
    row('an operator may stop in its namespace', OPERATOR, ['stop', 'shop'], true),
    row('an operator may not stop in another namespace', OPERATOR, ['stop', 'lab'], false),
    row('an operator may resume where it may', OPERATOR, ['resume', 'lab'], true),
    row('a part of the name of a namespace is not the namespace', OPERATOR, ['stop', 'sho'], false),
    row('an operator may not prove', OPERATOR, ['prove', 'shop'], false),
    row('a caller that is not known yet may nothing', null, ['read', 'shop'], false),
  ])('$title', ({ me, right, namespace, isAllowed }) => expect(may(me, right, namespace)).toBe(isAllowed));

  test.each<[string, Me | null, boolean]>([
    ['every namespace', ADMIN, true],
    ['one namespace', { ...OPERATOR, can: { ...NOTHING, read: ['shop'] } }, true],
    ['no namespace', { ...OPERATOR, can: NOTHING }, false],
    ['not known yet', null, true],
  ])('to read: %s', (_title, me, isAllowed) => expect(mayReadSome(me)).toBe(isAllowed));
});

test.each<[string, Me]>([
  ['admin key', ADMIN],
  ['read key', READ_KEY],
  ['Alice', OPERATOR],
  ['u1', { ...ADMIN, method: 'session', sub: 'u1' }],
])('the header shows %s', (name, me) => expect(nameOf(me)).toBe(name));
