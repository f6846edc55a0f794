import { describe, expect, test } from '@jest/globals';
import { addressOnLane } from './lane-addresses.ts';
import { routeOf } from './lane-routes.ts';
import { parseLanes, type Lane } from './lanes.ts';

function laneOf(text: string): Lane {
  const parsed = parseLanes(text);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.lanes[0]!;
}

const TOOLS = 'mcp:tools=https://tools.example.com/base/sse?key=1';
const GATEWAY = 'compatible:corp=http://gateway.example.com:8080/team/v1';

describe.each([
  [TOOLS, '/messages?session=1', '/mcp/tools/~/messages?session=1'],
  [TOOLS, 'messages', '/mcp/tools/~/base/messages'],
  [TOOLS, '?key=2#part', '/mcp/tools/~/base/sse?key=2#part'],
  [TOOLS, 'https://tools.example.com/m', '/mcp/tools/~/m'],
  [TOOLS, ' HTTPS://Tools.Example.COM/m ', '/mcp/tools/~/m'],
  [TOOLS, 'https://tools.example.com:443/m', '/mcp/tools/~/m'],
  [TOOLS, '//tools.example.com/m', '/mcp/tools/~/m'],
  [TOOLS, 'https://tools.example.com//other.example.com/', '/mcp/tools/~//other.example.com/'],
  [TOOLS, 'http://tools.example.com/m', '/mcp/tools/~/m'],
  [TOOLS, 'http://tools.example.com:443/m', '/mcp/tools/~/m'],
  [GATEWAY, '/team/v1/chat/completions/', '/compatible/corp/~/team/v1/chat/completions/'],
  [GATEWAY, 'http://gateway.example.com:8080/login?to=%2F', '/compatible/corp/~/login?to=%2F'],
])('an address of %s: %s', (lane, address, expected) => {
  const known = laneOf(lane);
  const base = known.upstream.pathname + known.upstream.search;

  test(`is ${expected} on the lane, which leads to it again`, () => {
    const found = addressOnLane(known, address, base) ?? '';
    expect(found).toBe(expected);
    const { pathname, search } = new URL(address.trim(), known.upstream.origin + base);
    const target = found.replace(/#.*/, '');
    expect(routeOf([known], 'GET', target)?.upstreamPath).toBe(pathname + search);
  });
});

test.each([
  [TOOLS, 'https://other.example.com/m'],
  [TOOLS, '//other.example.com/m'],
  [TOOLS, String.raw`/\other.example.com/m`],
  [TOOLS, 'https://tools.example.com:8443/m'],
  [TOOLS, 'http://tools.example.com:8080/m'],
  [TOOLS, 'https://tools.example.com.other.example/m'],
  [TOOLS, 'https://tools.example.com@other.example.com/m'],
  [TOOLS, 'ftp://tools.example.com/m'],
  [TOOLS, 'mailto:a@tools.example.com'],
  [TOOLS, 'http://['],
  [GATEWAY, 'http://gateway.example.com/team/v1/chat'],
  [GATEWAY, 'https://gateway.example.com/team/v1/chat'],
])('an address of %s: %s is not at the upstream', (lane, address) => {
  expect(addressOnLane(laneOf(lane), address, '/base/sse')).toBeNull();
});

test('the protocol of an absolute path below a lane is known', () => {
  const route = routeOf([laneOf(GATEWAY)], 'POST', '/compatible/corp/~/other/chat/completions/?x=1');
  expect(route).toMatchObject({ wire: 'chat', upstreamPath: '/other/chat/completions/?x=1' });
});
