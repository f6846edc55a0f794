import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AgentPolicy } from '../../core/organisation/finding.ts';
import { parsePolicy } from '../../core/organisation/parse-policy.ts';
import type { Directives } from '../../core/shapes/directive.ts';
import {
  startDirectiveRig,
  type DirectiveReader,
  type DirectiveRig,
} from '../../testing/fleet/directive-rig.ts';
import { aStop } from '../../testing/fleet/held-stops.ts';
import { aMoment } from '../../testing/time/moment.ts';
import { until } from '../../testing/time/until.ts';
import { MAX_OF_SENDER } from './directive-streams.ts';

let rig: DirectiveRig;
beforeEach(async () => {
  rig = await startDirectiveRig();
});
afterEach(() => rig.close());

const received = async (stream: DirectiveReader, count: number): Promise<Directives[]> => {
  await until(() => stream.events.length >= count, `${count} events`);
  return stream.directives();
};
const stopIds = (stream: DirectiveReader): (string | null)[] =>
  stream.directives().map(({ stop }) => stop?.id ?? null);
/** Advances the clock. Before, the loop and the comments of all streams must wait for it. */
const pass = async (ms: number, stepMs = ms): Promise<void> => {
  await until(() => rig.clock.left().length === 1 + rig.openStreams(), 'the loops that wait for the clock');
  await rig.clock.pass(ms, stepMs);
};

/** A policy that forbids a tool. */
function forbidding(tool: string): AgentPolicy {
  const parsed = parsePolicy({
    ...{ apiVersion: 'platform.io/v1', kind: 'AgentPolicy', metadata: { name: 'production' } },
    spec: { rules: [{ id: 'tools', action: 'Deny', tools: { forbidden: [tool] } }] },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return parsed.value;
}

describe('the first event', () => {
  test('has the whole state of the agent', async () => {
    rig.setPolicies([forbidding('shell*')]);
    rig.storage.show([aStop('a', { agents: ['shop'], until: '2026-03-01T11:00:00.000Z' })]);
    const stream = await rig.open();
    expect(stream.headers).toMatchObject({ 'content-type': 'text/event-stream', connection: 'close' });
    expect(stream.events).toEqual([
      {
        event: 'directives',
        data: {
          revision: expect.stringMatching(/^[0-9a-f]{16}$/),
          stop: {
            ...{ id: 'platform-system/a', reason: 'leak', since: '2026-03-01T10:00:00.000Z' },
            until: '2026-03-01T11:00:00.000Z',
          },
          organisation: expect.objectContaining({ tools: { allowed: [], forbidden: ['shell*'] } }),
        },
      },
    ]);
    expect((await rig.open('other.chat')).last()).toMatchObject({ stop: null });
  });

  test('has no rules while they are not known', async () => {
    rig.setPolicies(null);
    expect((await rig.open()).last()).toEqual({ revision: expect.any(String), stop: null });
  });
});

describe('a stop', () => {
  test('reaches the agents that it is about without a pause, and its deletion too', async () => {
    const [shop, chat] = [await rig.open('a.shop'), await rig.open('b.chat')];
    rig.storage.show([aStop('a', { namespace: 'team', agents: ['shop'] })]);
    await received(shop, 2);
    rig.storage.show([]);
    await received(shop, 3);
    await aMoment();
    expect([stopIds(shop), stopIds(chat)]).toEqual([[null, 'team/a', null], [null]]);
    // An event of a change does not repeat the rules.
    expect(shop.last()).toEqual({ revision: expect.any(String), stop: null });
  });

  test('ends at its time without another message', async () => {
    rig.storage.show([aStop('a', { until: '2026-03-01T10:00:05.000Z' }), aStop('b', { namespace: 'prod' })]);
    const stream = await rig.open();
    await pass(4_000, 1_000);
    expect(stopIds(stream)).toEqual(['platform-system/a']);
    await pass(1_000);
    await received(stream, 2);
    expect(stopIds(stream)).toEqual(['platform-system/a', null]);
  });

  test('is replaced by the one that lasts longer, and returns when that is deleted', async () => {
    const stream = await rig.open();
    const short = aStop('short', { until: '2026-03-01T11:00:00.000Z' });
    rig.storage.show([short]);
    await received(stream, 2);
    rig.storage.show([short, aStop('long')]);
    await received(stream, 3);
    rig.storage.show([short]);
    await received(stream, 4);
    expect(stopIds(stream).map((id) => id?.split('/')[1])).toEqual([undefined, 'short', 'long', 'short']);
  });

  test('that cannot be stored reaches open streams, and is answered with 202', async () => {
    const stream = await rig.open();
    rig.storage.mode = 'down';
    const response = await rig.admin('POST', '/stops', { reason: 'leak' });
    const { id, stored } = (await response.json()) as { id: string; stored: boolean };
    await received(stream, 2);
    expect([response.status, stored, stopIds(stream)]).toEqual([202, false, [null, id]]);
    rig.storage.show([aStop('stored')]);
    const kept = await rig.admin('DELETE', '/stops/platform-system/stored');
    expect([kept.status, kept.headers.get('retry-after'), await kept.json()]).toEqual([
      ...[503, '2'],
      expect.objectContaining({ detail: 'the stop still applies: the storage is unavailable; try again' }),
    ]);
    expect((await rig.admin('DELETE', `/stops/${id}`)).status).toBe(204);
  });

  test('of the fleet is the same text for every stream', async () => {
    const streams = await Promise.all(
      Array.from({ length: 50 }, (_, index) => rig.open(`p${index}.a${index}`)),
    );
    rig.storage.show([aStop('fleet')]);
    for (const stream of streams) await received(stream, 2);
    expect(new Set(streams.map((stream) => stream.text().split('event: ')[2])).size).toBe(1);
  });
});

describe('changed rules', () => {
  test('are sent within a second, once, with the stop', async () => {
    rig.setPolicies([forbidding('shell*')]);
    const stream = await rig.open();
    await pass(1_000);
    rig.setPolicies([forbidding('exec*')]);
    rig.setPolicies([forbidding('mail*')]);
    await pass(1_000);
    await received(stream, 2);
    rig.setPolicies([forbidding('mail*')]);
    await pass(1_000);
    await aMoment();
    const forbidden = stream.directives().map(({ organisation }) => organisation?.tools.forbidden);
    expect(forbidden).toEqual([['shell*'], ['mail*']]);
  });

  test('that are not known any more change nothing', async () => {
    const stream = await rig.open();
    rig.setPolicies(null);
    await pass(1_000);
    await aMoment();
    expect(stream.events).toHaveLength(1);
  });
});

describe('a stream', () => {
  test('has a comment line every 15 seconds', async () => {
    const stream = await rig.open();
    await pass(15_000);
    await until(() => stream.text().includes(': heartbeat\n\n'), 'the comment');
    expect(stream.events).toHaveLength(1);
  });

  test('ends after about an hour, so that the credential is checked again', async () => {
    const stream = await rig.open();
    await pass(53 * 60_000);
    expect(rig.openStreams()).toBe(1);
    await pass(14 * 60_000);
    expect(await stream.ended).toBe('ended');
    await until(() => rig.clock.left().length === 0, 'the end of all waits');
  });

  test('that does not read is cut, and others get every stop', async () => {
    const [slow, other] = [await rig.open('a.shop'), await rig.open('b.chat')];
    slow.pause();
    // Each event has about 64 KiB. The connection of the slow reader accepts some megabytes before anything is unsent.
    let rounds = 0;
    while (rig.openStreams() === 2) {
      rounds += 1;
      rig.storage.show([aStop(`s-${rounds}`, { reason: 'x'.repeat(64 * 1024) })]);
      await received(other, rounds + 1);
    }
    slow.resume();
    expect(await slow.ended).toBe('cut');
    expect(stopIds(other)).toHaveLength(rounds + 1);
  });

  test('is refused to a key that has too many, and not to others', async () => {
    const streams = await Promise.all(Array.from({ length: MAX_OF_SENDER.pod }, () => rig.open('evil.shop')));
    const refused = await rig.get('evil.shop');
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
      ...[429, '30'],
      expect.objectContaining({ detail: 'the sender has 8 streams; try again' }),
    ]);
    expect((await rig.get('evil.shop', { method: 'HEAD' })).status).toBe(429);
    await rig.open('good.shop');
    streams[0]?.leave();
    await until(() => rig.openStreams() === MAX_OF_SENDER.pod, 'a free place');
    await rig.open('evil.shop');
  });

  test('is refused while the stops are not known, and an open one stays', async () => {
    const stream = await rig.open();
    rig.storage.show(null);
    const refused = await rig.get('other.chat');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    rig.storage.show([aStop('a')]);
    await received(stream, 2);
    expect(stopIds(stream)).toEqual([null, 'platform-system/a']);
  });

  test('ends when the process stops', async () => {
    const streams = [await rig.open('a.shop'), await rig.open('b.chat')];
    await rig.stop();
    expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(['ended', 'ended']);
  });
});

test.each([
  ['?manifestHash=abc', 400],
  [`?manifestHash=${'a'.repeat(64)}&manifestHash=${'b'.repeat(64)}`, 400],
  [`?manifestHash=${'A'.repeat(64)}`, 400],
])('the query %s returns %i', async (query, status) => {
  expect((await rig.get('pod.shop', { query })).status).toBe(status);
  expect(rig.openStreams()).toBe(0);
});

test('HEAD has the head of a stream, and a request without a key gets 401', async () => {
  const head = await rig.get('pod.shop', { method: 'HEAD', query: `?manifestHash=${'a'.repeat(64)}` });
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  expect((await fetch(`${rig.url}/directives`)).status).toBe(401);
  expect([rig.openStreams(), rig.clock.left()]).toEqual([0, []]);
});
