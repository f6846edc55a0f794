import { expect, test } from '@jest/globals';
import { ChangeLog } from './change-log.ts';

const key = (name: string) => ({ namespace: 'team', name });
const namesOf = (log: ChangeLog, position: string) => log.since(position)?.map(({ name }) => name) ?? null;

test('returns the agents that changed after a position, each once, in the order of their last change', () => {
  const log = new ChangeLog();
  const start = log.position;
  for (const name of ['a', 'b', 'a', 'c']) log.record(key(name));
  expect(log.since(start)).toEqual([key('b'), key('a'), key('c')]);
  const middle = log.position;
  expect(log.since(middle)).toEqual([]);
  log.record(key('b'));
  expect([namesOf(log, middle), namesOf(log, start)]).toEqual([['b'], ['a', 'c', 'b']]);
});

test('does not know positions of another process, of the future, or without a number', () => {
  const log = new ChangeLog();
  log.record(key('a'));
  const [process = ''] = log.position.split('.');
  for (const position of ['', 'x', `${process}.`, `${process}.-1`, `${process}.2`, new ChangeLog().position])
    expect([position, log.since(position)]).toEqual([position, null]);
  expect(namesOf(log, `${process}.0`)).toEqual(['a']);
});

test('forgets the oldest changes above its limit, and does not know positions before them', () => {
  const log = new ChangeLog(2);
  const start = log.position;
  log.record(key('a'));
  const afterA = log.position;
  log.record(key('b'));
  expect(namesOf(log, start)).toEqual(['a', 'b']);
  log.record(key('c'));
  expect([namesOf(log, start), namesOf(log, afterA)]).toEqual([null, ['b', 'c']]);
  log.record(key('b'));
  expect(namesOf(log, afterA)).toEqual(['c', 'b']);
});
