import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { blocksUnder } from '../../../testing/documents/documented-commands.ts';
import { aPerson, ISSUER } from '../../../testing/fleet/persons.ts';
import type { AccessRight } from './access.ts';
import { loadRoles } from './roles.ts';

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'roles-'));
  path = join(directory, 'roles.yaml');
});
afterEach(() => rm(directory, { recursive: true }));

const ALL: AccessRight[] = [
  ...(['read', 'stop', 'resume', 'prove', 'withdraw', 'register', 'remove', 'actions'] as const),
];

async function rightsIn(namespace: string | null, groups: string[], sub = 'alice'): Promise<AccessRight[]> {
  const roles = await loadRoles(path);
  const can = await Promise.all(ALL.map((right) => roles.can(aPerson(sub, groups), right, namespace)));
  return ALL.filter((_right, index) => can[index]);
}

test.each([
  ['viewer', ['read']],
  ['operator', ['read', 'stop', 'resume']],
  ['approver', ['read', 'prove', 'withdraw']],
  ['admin', ALL],
])('the role %s', async (role, rights) => {
  await writeFile(path, `roles: [{role: ${role}, groups: [sre], namespaces: ["prod-*", exact]}]`);
  expect(await rightsIn('prod-shop', ['other', 'sre'])).toEqual(rights);
  expect(await rightsIn('exact', ['sre'])).toEqual(rights);
  expect(await rightsIn('exact-not', ['sre'])).toEqual([]);
  expect(await rightsIn('prod-shop', ['sre2', 'SRE'])).toEqual([]);
  // Only the pattern `*` is every namespace.
  expect(await rightsIn(null, ['sre'])).toEqual([]);
  await writeFile(path, `roles: [{role: ${role}, groups: [sre], namespaces: ["*"]}]`);
  expect(await rightsIn(null, ['sre'])).toEqual(rights);
});

test('rows add up, and users are an issuer with a subject', async () => {
  await writeFile(
    path,
    `roles:
  - {role: operator, users: ["${ISSUER}#alice"], namespaces: [a]}
  - {role: approver, groups: [qa], namespaces: [a]}
  - {role: viewer, users: ["https://other.example#bob"], namespaces: [a]}`,
  );
  expect(await rightsIn('a', ['qa'])).toEqual(['read', 'stop', 'resume', 'prove', 'withdraw']);
  expect(await rightsIn('a', [], 'bob')).toEqual([]);
  const roles = await loadRoles(path);
  expect([roles.isNamed('qa'), roles.isNamed('sre')]).toEqual([true, false]);
  const serviceAccount = {
    method: 'kubernetes',
    user: 'alice',
    groups: [],
    overage: false,
    sub: 'alice',
  } as const;
  expect(await roles.can(serviceAccount, 'read', 'a')).toBe(false);
});

test('the example of the guide', async () => {
  const [example] = blocksUnder('docs/guide/roles.md', 'Rights outside a cluster');
  await writeFile(path, example!.body);
  expect(await rightsIn('anything', ['oidc:everyone'])).toEqual(['read']);
  expect(await rightsIn('platform-remote', ['oidc:sre'])).toEqual(['read', 'stop', 'resume']);
  expect(await rightsIn('platform-system', ['oidc:sre'])).toEqual([]);
});

const ROW = 'role: viewer, groups: [a], namespaces: [b]';
test.each([
  ['roles: [', 'Flow sequence in block collection must be sufficiently indented'],
  ['roles: &a [*a]', 'must be an object'],
  ['', 'must be an object'],
  ['role: []', 'roles: must be a list; role: is not known; the members are roles'],
  ['roles: [{role: owner, groups: [a], namespaces: [b]}]', 'roles[0].role: must be one of viewer, operator'],
  ['roles: [{role: viewer, namespaces: [b]}]', 'roles[0]: needs groups or users'],
  ['roles: [{role: viewer, groups: [a]}]', 'roles[0].namespaces: must be a list'],
  ['roles: [{role: viewer, groups: [a], namespaces: []}]', 'roles[0].namespaces: must not be empty'],
  ['roles: [{role: viewer, users: [alice], namespaces: [b]}]', 'roles[0].users[0]: must be the issuer, "#"'],
  [`roles: [{${ROW}, group: [c]}]`, 'roles[0].group: is not known; the members are role, groups, users'],
])('a file that is not valid: %j', async (text, problem) => {
  await writeFile(path, text);
  await expect(loadRoles(path)).rejects.toThrow(`PLATFORM_ROLES_FILE ${path} is not valid: `);
  await expect(loadRoles(path)).rejects.toThrow(problem);
});

test('a file that does not exist', async () => {
  await expect(loadRoles(path)).rejects.toThrow(/PLATFORM_ROLES_FILE .* is not valid: .*ENOENT/);
});
