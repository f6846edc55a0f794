import { expect, test } from '@jest/globals';
import { lanePathOf, parseLanes } from './lanes.ts';
import { routeOf } from './lane-routes.ts';
import { UNREAD_ROUTES } from './unread-routes.ts';

const ROWS = UNREAD_ROUTES.flatMap(({ lanes, routes }) =>
  lanes.flatMap((kind) => routes.map((route): [kind: string, route: string] => [kind, route])),
);

test.each(ROWS)('the lane %s does not read %s', (kind, route) => {
  const parsed = parseLanes(`${kind === 'compatible' ? 'compatible:x' : kind}=https://vendor.example.com`);
  const [lane] = 'lanes' in parsed ? parsed.lanes : [];
  const [method = '', path = ''] = route.replaceAll(/\{\w+\}/g, 'x').split(' ');
  expect(lane).toBeDefined();
  expect(
    routeOf(lane === undefined ? [] : [lane], method, (lane ? lanePathOf(lane) : '') + path),
  ).toMatchObject({
    ...{ wire: null, upstreamPath: path },
  });
});

test('each route that is read is read with POST only', () => {
  const { lanes } = parseLanes('openai=https://vendor.example.com') as Extract<
    ReturnType<typeof parseLanes>,
    { lanes: unknown }
  >;
  const wires = ['POST', 'GET', 'DELETE'].map(
    (method) => routeOf(lanes, method, '/openai/v1/chat/completions')?.wire,
  );
  expect(wires).toEqual(['chat', null, null]);
});
