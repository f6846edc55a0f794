import { checked, matching, oneOf, text } from './field.ts';
import { list, object, type TypeOf } from './object.ts';

export const ROLES = ['viewer', 'operator', 'approver', 'admin'] as const;

const row = object('Who has a role, and where.', {
  role: oneOf(
    'viewer: reads agents. operator: also stops agents and ends stops. approver: reads agents, submits and deletes proofs. admin: everything.',
    ROLES,
  ),
  'groups?': list('Groups of the token that have the role.', text('A group.', { max: 512 }), { max: 1_000 }),
  'users?': list(
    'Users who have the role.',
    matching('Issuer and subject of the token.', {
      pattern: /^[^#]+#.+$/s,
      wanted: 'the issuer, "#" and the subject of a token',
    }),
    { max: 1_000 },
  ),
  namespaces: list(
    'Namespaces of the role; `*` stands for any characters.',
    text('A pattern.', { max: 200 }),
    {
      max: 1_000,
    },
  ),
});

/** A row of the file of roles. */
export type RoleRow = TypeOf<typeof row>;

/** The content of PLATFORM_ROLES_FILE. */
export const rolesFile = object('The roles of people. Who is in no row has no right.', {
  roles: list(
    'The rows. Their rights add up.',
    checked(row, ({ groups = [], users = [], namespaces }) => [
      ...(groups.length + users.length === 0 ? ([['', 'needs groups or users']] as [string, string][]) : []),
      ...(namespaces.length === 0 ? ([['namespaces', 'must not be empty']] as [string, string][]) : []),
    ]),
    { max: 1_000 },
  ),
});
