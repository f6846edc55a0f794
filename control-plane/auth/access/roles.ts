import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { matchesAny } from '../../../core/organisation/pattern.ts';
import { parseWith } from '../../../core/shapes/field.ts';
import { rolesFile, type RoleRow } from '../../../core/shapes/roles.ts';
import { unknownMembers } from '../../../core/shapes/unknown-members.ts';
import { describeError } from '../../../runtime/logger.ts';
import type { Principal } from '../principal.ts';
import type { Access, AccessRight } from './access.ts';

/** The rights of each role; null: all. */
const RIGHTS: Readonly<Record<RoleRow['role'], readonly AccessRight[] | null>> = {
  viewer: ['read'],
  operator: ['read', 'stop', 'resume'],
  approver: ['read', 'prove', 'withdraw'],
  admin: null,
};

/** The rights of people in a file, for a control plane without a cluster. */
export class RolesAccess implements Access {
  readonly #rows: readonly RoleRow[];

  constructor(rows: readonly RoleRow[]) {
    this.#rows = rows;
  }

  can(principal: Principal, right: AccessRight, namespace: string | null): Promise<boolean> {
    const allows = ({ role, namespaces }: RoleRow): boolean => {
      const isIn = namespace === null ? namespaces.includes('*') : matchesAny(namespaces, namespace);
      return isIn && (RIGHTS[role]?.includes(right) ?? true);
    };
    return Promise.resolve(this.#rows.some((row) => isAbout(row, principal) && allows(row)));
  }

  /** Whether a row names the group, so that a session keeps it. */
  isNamed(group: string): boolean {
    return this.#rows.some(({ groups = [] }) => groups.includes(group));
  }
}

function isAbout({ groups = [], users = [] }: RoleRow, { iss, sub, groups: own }: Principal): boolean {
  const isUser = iss !== undefined && sub !== undefined && users.includes(`${iss}#${sub}`);
  return isUser || groups.some((group) => own.includes(group));
}

/** Reads PLATFORM_ROLES_FILE. Rejects with all problems of the file. */
export async function loadRoles(path: string): Promise<RolesAccess> {
  const reject = (problems: readonly string[]): Error =>
    new Error(`PLATFORM_ROLES_FILE ${path} is not valid: ${problems.join('; ')}`);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw reject([describeError(error)]);
  });
  const value = valueOf(text, reject);
  const parsed = parseWith(rolesFile, value);
  const errors = [...(parsed.ok ? [] : parsed.errors), ...unknownMembers(value, rolesFile.schema, '')];
  if (!parsed.ok || errors.length > 0)
    throw reject(errors.map(({ path: at, message }) => (at === '' ? message : `${at}: ${message}`)));
  return new RolesAccess(parsed.value.roles);
}

function valueOf(text: string, reject: (problems: readonly string[]) => Error): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw reject([(error as Error).message.split('\n', 1)[0] ?? '']);
  }
}
