import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { Bearer } from './bearer.ts';
import type { Credentials } from './credentials.ts';

const NOW = '2026-03-21T00:00:00.000Z';
const seconds = Date.parse(NOW) / 1000;
const DAY = 86_400;

const jwt = (claims: object, alg = 'HS256'): string =>
  [{ alg }, claims, 'signature']
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');

/** A key of this age in days; its lifetime is 30 days. */
const keyOf = (days: number, sub = 'agt_1', alg = 'HS256'): string =>
  jwt({ sub, iat: seconds - days * DAY, exp: seconds + (30 - days) * DAY }, alg);

let folder: string;
let server: Server;
let renewals: string[];
let fresh: string | null;
let warnings: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'key-'));
  renewals = [];
  warnings = [];
  fresh = keyOf(0);
  server = createServer((request, response) => {
    renewals.push(request.headers.authorization ?? '');
    response.writeHead(fresh === null ? 503 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ apiKey: fresh, expiresAt: new Date((seconds + 30 * DAY) * 1000) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await new Promise((resolve) => server.close(resolve));
});

function aBearer(credentials: Credentials): Bearer {
  const base = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return new Bearer(credentials, {
    endpoint: { base, caFile: null, timeoutMs: 100_000 },
    clock: new ManualClock(NOW),
    logger: { warn: (message) => void warnings.push(message), info: () => undefined, debug: () => undefined },
  });
}

/** The key of a push, after a renewal if one is due. */
async function pushed(bearer: Bearer): Promise<string> {
  await bearer.renewIfDue(new AbortController().signal);
  return bearer.current();
}

describe('a registration key in a token file', () => {
  const path = (): string => join(folder, 'shop.key');
  const keep = (key: string): Credentials => {
    writeFileSync(path(), `${key}\n`, { mode: 0o644 });
    return { kind: 'file', path: path() };
  };

  test('is renewed in place at two thirds of its lifetime, readable only by its owner, without leftover files', async () => {
    const bearer = aBearer(keep(keyOf(20)));
    expect(await pushed(bearer)).toBe(fresh);
    expect(await pushed(bearer)).toBe(fresh);
    expect(renewals).toEqual([`Bearer ${keyOf(20)}`]);
    expect(readFileSync(path(), 'utf8')).toBe(`${fresh}\n`);
    expect(statSync(path()).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['shop.key']);
    expect(warnings).toEqual([]);
  });

  test('is renewed in the target of a symbolic link', async () => {
    keep(keyOf(20));
    const link = join(folder, 'link');
    symlinkSync('shop.key', link);
    expect(await pushed(aBearer({ kind: 'file', path: link }))).toBe(fresh);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(path(), 'utf8')).toBe(`${fresh}\n`);
  });

  test.each([
    ['younger than two thirds of its lifetime', () => keyOf(19)],
    ['expired', () => keyOf(30)],
    ['issued by the kubelet', () => keyOf(20, 'agt_1', 'RS256')],
    ['not a JWT', () => 'secret'],
  ])('that is %s is not renewed', async (_, make) => {
    const key = make();
    expect(await pushed(aBearer(keep(key)))).toBe(key);
    expect(renewals).toEqual([]);
  });

  test('that another process has renewed is read from the file', async () => {
    const bearer = aBearer(keep(keyOf(20)));
    await pushed(bearer);
    const otherKey = keyOf(2);
    writeFileSync(path(), otherKey);
    expect(await pushed(bearer)).toBe(otherKey);
    expect(renewals).toHaveLength(1);
  });

  test('that cannot be renewed stays in use, and renewal is retried with the next push', async () => {
    fresh = null;
    const bearer = aBearer(keep(keyOf(20)));
    expect(await pushed(bearer)).toBe(keyOf(20));
    fresh = keyOf(0);
    expect(await pushed(bearer)).toBe(fresh);
    expect(warnings).toEqual(['control plane key renewal failed']);
  });
});

describe('a given key', () => {
  const keepPath = (): string => join(folder, 'kept.key');
  const given = (key: string): Credentials => ({
    kind: 'key',
    key: { reveal: () => key },
    keepPath: keepPath(),
  });

  test('with a keep path uses the renewed key after a restart, even after the given key has expired', async () => {
    expect(await pushed(aBearer(given(keyOf(20))))).toBe(fresh);
    expect(statSync(keepPath()).mode & 0o777).toBe(0o600);
    expect(await pushed(aBearer(given(keyOf(20))))).toBe(fresh);
    expect(await pushed(aBearer(given(keyOf(31))))).toBe(fresh);
    expect(renewals).toHaveLength(1);
  });

  test.each([
    ['is older, because the agent was registered again', () => keyOf(5)],
    ['belongs to another agent', () => keyOf(1, 'agt_2')],
    ['has expired', () => keyOf(31)],
    ['is not a registration key', () => keyOf(1, 'agt_1', 'RS256')],
    ['is not a key', () => 'garbage'],
    ['is empty', () => ''],
  ])('is used when the kept key %s', async (_, make) => {
    writeFileSync(keepPath(), make());
    expect(await pushed(aBearer(given(keyOf(3))))).toBe(keyOf(3));
  });

  test('that cannot be stored is renewed in memory, with a warning that does not reveal the key', async () => {
    const nowhere = { ...given(keyOf(20)), keepPath: join(folder, 'gone', 'kept.key') } as Credentials;
    const bearer = aBearer(nowhere);
    expect(await pushed(bearer)).toBe(fresh);
    expect(await pushed(bearer)).toBe(fresh);
    expect(renewals).toHaveLength(1);
    expect(warnings).toEqual(['failed to write renewed key to its file, a restart uses the previous key']);
  });
});
