import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { runCommandLine } from '../program.ts';
import type { Rendered } from '../rendered.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'cli-egress-'));
  writeFileSync(join(cwd, 'agent.yaml'), manifestText('  egress: { hosts: [api.example.com] }\n'));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const generate = (...args: string[]): Promise<Rendered> =>
  runCommandLine(['generate-egress', 'agent.yaml', ...args], {
    ...{ env: {}, cwd, now: () => new Date(), color: false, ask: null },
  });

test.each([
  ['kubernetes', 'networking.k8s.io/v1', 'NetworkPolicy'],
  ['cilium', 'cilium.io/v2', 'CiliumNetworkPolicy'],
])('--kind %s prints one object that kubectl can apply', async (kind, apiVersion, objectKind) => {
  const { output, errors, exitCode } = await generate('--kind', kind, '-n', 'shop');
  expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
  expect(parse(output)).toMatchObject({ apiVersion, kind: objectKind, metadata: { namespace: 'shop' } });
});

test('--json prints the policy with its notes', async () => {
  const { output } = await generate('--json');
  expect(JSON.parse(output)).toMatchObject({ policy: { kind: 'NetworkPolicy' }, notes: expect.any(Array) });
});

test('--out writes a file, but never the manifest', async () => {
  expect((await generate('--out', 'egress.yaml')).output).toBe('wrote egress.yaml\n');
  expect(parse(readFileSync(join(cwd, 'egress.yaml'), 'utf8'))).toMatchObject({ kind: 'NetworkPolicy' });
  const { errors, exitCode } = await generate('--out', 'agent.yaml');
  expect(exitCode).toBe(1);
  expect(errors).toContain('cannot write agent.yaml');
});

test('a control plane namespace of none leaves it out', async () => {
  expect((await generate()).output).toContain('platform-system');
  expect((await generate('--control-plane-namespace', 'none')).output).not.toContain('platform-system');
});

test.each([
  ['a namespace', ['-n', 'Shop']],
  ['a kind', ['--kind', 'calico']],
])('%s that is not valid is an error', async (_, args) => {
  expect((await generate(...args)).exitCode).toBe(1);
});
