import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { plainManifest } from '../testing/manifests/plain-manifest.ts';
import { check } from '../core/health/check.ts';
import { commandReach } from './command.ts';
import { gather } from './gather.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'commands-'));
  await mkdir(join(folder, 'folder-command'));
  await writeFile(join(folder, 'server'), '');
  await chmod(join(folder, 'server'), 0o755);
  await writeFile(join(folder, 'text'), '');
  await chmod(join(folder, 'text'), 0o644);
  await symlink(join(folder, 'server'), join(folder, 'link'));
  await symlink(join(folder, 'gone'), join(folder, 'broken'));
});
afterAll(() => rm(folder, { recursive: true }));

const FOUND = { state: 'unknown', reason: 'command found; only the agent starts it' };
const missing = (command: string): unknown => ({
  state: 'unreachable',
  reason: `command not found: ${command}`,
});

describe('the command of a stdio server', () => {
  test.each(['server', 'link'])('%s in a PATH directory is found', async (command) => {
    expect(await commandReach(command, `/nonexistent:${folder}`)).toEqual(FOUND);
  });

  test.each(['text', 'folder-command', 'broken', 'none', '', 'a\0b'])('%j is not found', async (command) => {
    expect(await commandReach(command, folder)).toEqual(missing(command));
  });

  test('with a path is looked up only at that path', async () => {
    expect(await commandReach(join(folder, 'server'), undefined)).toEqual(FOUND);
    expect(await commandReach('./server', folder)).toEqual(missing('./server'));
  });

  test('is not found without PATH', async () => {
    expect(await commandReach('server', undefined)).toEqual(missing('server'));
  });

  test.each([
    [true, 'server', 'skip', FOUND.reason],
    [true, 'none', 'fail', 'command not found: none'],
    [true, '$env:SERVER', 'skip', FOUND.reason],
    [true, '$env:UNSET', 'skip', 'requires env:UNSET, which failed'],
    [false, 'none', 'skip', 'a stdio server is started by the agent and has no address'],
  ])('with pingsServices %s: %s is %s', async (pingsServices, command, status, message) => {
    const plain = plainManifest('shop', []);
    const servers = [{ name: 'files', transport: 'stdio' as const, command }];
    const manifest = { ...plain, spec: { ...plain.spec, mcp: { servers } } };
    const variables = { PATH: folder, SERVER: 'server', OPENAI_API_KEY: 'k' };
    const facts = await gather({
      manifest,
      upstreamUrl: null,
      environment: { kind: 'own', variables, folder, secretDir: null },
      pingsServices,
      now: () => new Date(),
    });
    expect(check(manifest, facts).checks.find(({ id }) => id === 'mcp:files')).toMatchObject({
      status,
      message,
    });
  });
});
