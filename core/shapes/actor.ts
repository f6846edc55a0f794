import { flag, named, nullable, oneOf, text, type Field } from './field.ts';
import { either, list, object, partial, type TypeOf } from './object.ts';

/** How the control plane verified a person or a program. */
export const AUTH_METHODS = ['admin-key', 'read-key', 'oidc', 'session', 'kubernetes'] as const;

const members = object('Who made a request, as the control plane verified it.', {
  method: oneOf('How it was verified.', AUTH_METHODS),
  ...partial({
    iss: text('The issuer of the token. Absent for a key.', { max: 2_048 }),
    sub: text('The subject of the token in the issuer. Absent for a key.', { max: 512 }),
    name: text('The name for display, which is not an identity.', { cut: 200 }),
  }),
});

/** Who made a request. `iss` and `sub` identify a person; a key has neither. */
export interface Actor extends TypeOf<typeof members> {}
export const actor: Field<Actor> = named('Actor', members);

/** What a caller may do with the agents of a namespace. The roles viewer, operator and approver have one each. */
export const RIGHTS = ['read', 'stop', 'resume', 'prove'] as const;
export type Right = (typeof RIGHTS)[number];

const where = (about: string) =>
  either(
    about,
    oneOf('Every namespace.', ['*']),
    list('These namespaces.', text('A namespace.'), { max: 10_000 }),
  );

export const me = named(
  'Me',
  object('The caller of the request, and what it may do.', {
    ...members.members,
    overage: flag(
      'True: the identity provider sent too many groups for one token, so the caller has no groups and no role of them.',
    ),
    can: object('Where the caller has which right. The server decides with each request.', {
      read: where('Read agents.'),
      stop: where('Stop agents.'),
      resume: where('End stops.'),
      prove: where('Write and delete proofs.'),
      admin: flag('Register and delete remote agents, and read the log of admin actions.'),
    }),
    until: nullable(text('When the session ends; null: the caller has no session.')),
  }),
);

/** The response of `GET /api/v1/me`. */
export type Me = TypeOf<typeof me>;
