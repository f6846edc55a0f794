import { describe, expect, it } from '@jest/globals';
import { appliesTo, parseStop, stopDirectiveOf, stopOf, type AgentStop } from './stops.ts';

const ROOT = 'platform-system';
const AT = new Date('2026-11-29T12:00:00Z');

const stop = (spec: Partial<AgentStop['spec']>, about: Partial<AgentStop> = {}): AgentStop => ({
  ...{ namespace: 'shop', name: 'a', since: '2026-11-29T11:00:00Z', spec: { reason: 'leak', ...spec } },
  ...about,
});

describe('which agents a stop applies to', () => {
  it.each([
    ['its own namespace', {}, 'shop', true],
    ['not another namespace', {}, 'bank', false],
    ['an agent by name', { agents: ['ch*'] }, 'shop', true],
    ['not an agent of another name', { agents: ['ch'] }, 'shop', false],
    ['its own namespace only, even if it names others', { namespaces: ['bank'] }, 'bank', false],
  ])('%s', (_title, spec, namespace, applies) => {
    expect(appliesTo(stop(spec), { namespace, name: 'chat' }, ROOT)).toBe(applies);
  });

  it.each([
    ['every namespace', {}, 'bank', true],
    ['namespaces by pattern', { namespaces: ['prod-*'] }, 'prod-eu', true],
    ['not other namespaces', { namespaces: ['prod-*'] }, 'test', false],
  ])('in the namespace of the release: %s', (_title, spec, namespace, applies) => {
    expect(appliesTo(stop(spec, { namespace: ROOT }), { namespace, name: 'chat' }, ROOT)).toBe(applies);
  });
});

describe('the stop of an agent', () => {
  const agent = { namespace: 'shop', name: 'chat' };
  const found = (...stops: AgentStop[]): string | undefined =>
    stopOf(stops, agent, { rootNamespace: ROOT, at: AT })?.name;

  it('is none without a stop, and after its end', () => {
    expect(found()).toBeUndefined();
    expect(found(stop({ until: AT.toISOString() }))).toBeUndefined();
    expect(found(stop({ until: '2026-11-29T12:00:01Z' }))).toBe('a');
  });

  it('is the one that lasts longest, else the oldest, else the first by name', () => {
    const short = stop({ until: '2026-11-29T13:00:00Z' }, { name: 'short' });
    const long = stop({ until: '2026-11-29T14:00:00Z' }, { name: 'long' });
    const endless = stop({}, { name: 'endless' });
    const older = stop({}, { name: 'older', since: '2026-11-29T10:00:00Z' });
    const last = stop({}, { name: 'z' });
    expect(found(short, long)).toBe('long');
    expect(found(short, endless, long)).toBe('endless');
    expect(found(endless, older)).toBe('older');
    expect(found(last, endless)).toBe('endless');
  });

  it('reaches sidecars with its id and its end', () => {
    expect(stopDirectiveOf(stop({}))).toStrictEqual({
      ...{ id: 'shop/a', reason: 'leak', since: '2026-11-29T11:00:00Z', until: null },
    });
  });
});

it('takes an AgentStop of the API server', () => {
  const metadata = { namespace: 'shop', name: 'a', creationTimestamp: '2026-11-29T11:00:00Z' };
  expect(parseStop({ metadata, spec: { reason: 'leak', agents: ['chat'] } })).toStrictEqual({
    ...{ namespace: 'shop', name: 'a', since: '2026-11-29T11:00:00Z' },
    spec: { reason: 'leak', agents: ['chat'] },
  });
  expect(parseStop({ metadata, spec: {} })).toBeNull();
  // The API server counts characters, the product UTF-16 units.
  const sign = '\u{1F6D1}';
  const long = { reason: sign.repeat(500), by: sign.repeat(320) };
  expect(parseStop({ metadata, spec: long })?.spec).toStrictEqual({
    ...{ reason: sign.repeat(250), by: sign.repeat(160) },
  });
});
