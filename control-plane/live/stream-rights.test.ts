import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { FleetEvent } from '../../core/shapes/agent-row.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { aStatus, startFleetRig, type FleetRig } from '../../testing/fleet/fleet-rig.ts';
import { aPerson } from '../../testing/fleet/persons.ts';
import type { EventStream } from '../../testing/http/event-stream.ts';
import { until } from '../../testing/time/until.ts';
import { bearerOf, unauthorized } from '../auth/bearer.ts';
import { EventTexts, viewOf } from './event-texts.ts';
import { MAX_OF_CALLER, MAX_STREAMS } from './fleet-streams.ts';

const POLL_MS = 2_000;

let rig: FleetRig;
/** The namespaces of each person; absent: the token is not valid. */
let rights: Record<string, string[]>;
/** Decisions about all namespaces wait for it. */
let hold: Promise<void>;
let held: number;

beforeEach(async () => {
  [hold, held] = [Promise.resolve(), 0];
  rights = { alice: ['team'], bob: ['other'], carol: ['team', 'other', 'empty'], dave: [] };
  rig = await startFleetRig(
    { shop: aStatus() },
    {
      signOn: [
        {
          identify: (request) => {
            const sub = bearerOf(request);
            if (sub === undefined) return Promise.resolve(null);
            return rights[sub] === undefined
              ? Promise.reject(unauthorized('the token has expired'))
              : Promise.resolve(aPerson(sub));
          },
        },
      ],
      access: {
        can: async ({ sub = '' }, _right, namespace) => {
          if (namespace === null) {
            held += 1;
            await hold;
          }
          return namespace !== null && rights[sub]!.includes(namespace);
        },
      },
    },
  );
  await rig.put('chat', aStatus(), 'other');
});
afterEach(() => rig.close());

const withScore = (score: number): ObservationStatus =>
  aStatus({ gap: { score, grade: 'B', source: 'agent-sdk', issues: [] } });

async function openStream(sub?: string): Promise<EventStream> {
  const stream = await rig.stream(sub === undefined ? undefined : { authorization: `Bearer ${sub}` });
  await until(() => stream.events.length > 0, 'the event ready');
  return stream;
}

const namesOf = (stream: EventStream): string[] =>
  stream.events.flatMap(({ event, data }) =>
    event === 'agents'
      ? [...(data as FleetEvent).changed, ...(data as FleetEvent).removed].map(({ agentName }) => agentName)
      : [],
  );

async function poll(): Promise<void> {
  await until(() => rig.clock.left().length === 1 + rig.openStreams(), 'the loops that wait for the clock');
  await rig.clock.pass(POLL_MS);
}

test('a stream has the changes of the namespaces that its reader may read', async () => {
  const [alice, bob, carol, dave, admin] = [
    await openStream('alice'),
    await openStream('bob'),
    await openStream('carol'),
    await openStream('dave'),
    await openStream(),
  ];
  await rig.put('shop', withScore(80));
  await rig.put('chat', withScore(70), 'other');
  await poll();
  for (const stream of [carol, admin]) await until(() => namesOf(stream).length === 2, 'both agents');
  await rig.remove('shop');
  await poll();
  for (const stream of [carol, admin]) await until(() => namesOf(stream).length === 3, 'the removal');
  expect([alice, bob, dave].map(namesOf)).toEqual([['shop', 'shop'], ['chat'], []]);
  expect(namesOf(carol).sort()).toEqual(['chat', 'shop', 'shop']);
  for (const [stream, mark] of [
    [alice, 'chat'],
    [bob, 'shop'],
    [dave, 'agentName'],
  ] as const)
    expect(stream.text()).not.toContain(mark);
});

test.each([
  ['a right is taken away', () => (rights['alice'] = [])],
  ['a right is given', () => (rights['alice'] = ['team', 'other'])],
  ['its credential ends', () => delete rights['alice']],
])('a stream ends when %s, and the others go on', async (_, change) => {
  const [alice, bob] = [await openStream('alice'), await openStream('bob')];
  await poll();
  change();
  await poll();
  expect(await alice.ended).toBe('ended');
  await rig.put('chat', withScore(70), 'other');
  await poll();
  await until(() => namesOf(bob).length === 1, 'the change');
  expect(rig.openStreams()).toBe(1);
});

test(`a person has at most ${MAX_OF_CALLER} streams, and others, and those with a key, still get one`, async () => {
  const open = (sub: string): Promise<EventStream> => rig.stream({ authorization: `Bearer ${sub}` });
  const streams = await Promise.all(Array.from({ length: MAX_OF_CALLER }, () => open('alice')));
  for (const method of ['GET', 'HEAD']) {
    const { status, headers } = await fetch(`${rig.url}/stream`, {
      ...{ method, headers: { authorization: 'Bearer alice' } },
    });
    expect([status, headers.get('retry-after')]).toEqual([429, '10']);
  }
  await openStream('bob');
  await Promise.all(Array.from({ length: MAX_OF_CALLER + 1 }, () => openStream()));
  streams[3]!.leave();
  await until(async () => (await open('alice').catch(() => null)) !== null, 'a free place');
});

test(`requests that wait for their rights at the same time get at most ${MAX_STREAMS} streams`, async () => {
  const waiting = MAX_STREAMS + 20;
  for (let index = 0; index < waiting; index += 1) rights[`person-${index}`] = ['team'];
  const start = Promise.withResolvers<void>();
  hold = start.promise;
  const asked = Array.from({ length: waiting }, (_, index) =>
    rig.stream({ authorization: `Bearer person-${index}` }).then(
      () => 1,
      () => 0,
    ),
  );
  await until(() => held === waiting, 'every request');
  start.resolve();
  const opened = await Promise.all(asked);
  expect(opened.reduce<number>((sum, each) => sum + each, 0)).toBe(MAX_STREAMS);
});

test('readers who see the same share the bytes of an event', () => {
  const row = (namespace: string) => ({ namespace, agentName: `agent of ${namespace}` });
  const texts = new EventTexts({ changed: [row('a'), row('b'), row('a')] as never, removed: [row('c')] });
  const of = (...namespaces: string[]) => texts.bytesFor(viewOf(namespaces));
  expect(of('a', 'b')).toBe(of('a', 'b'));
  expect(texts.bytesFor(viewOf(null))).toBe(texts.bytesFor(viewOf(null)));
  expect(of('x')).toBeNull();
  expect(of()).toBeNull();
  expect(of('c', 'x')?.toString()).toBe(
    'event: agents\ndata: {"changed":[],"removed":[{"namespace":"c","agentName":"agent of c"}]}\n\n',
  );
});
