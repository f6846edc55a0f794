import { namedObject, type TypeOf } from './object.ts';
import { oneOf, text } from './field.ts';

/** Where the person of a request comes from. */
export const IDENTITY_SOURCES = ['jwt', 'header', 'none'] as const;

export const identity = namedObject('Identity', 'The person who made a request, as far as it is known.', {
  source: oneOf(
    'jwt: a verified token. header: a header from a named proxy. none: not known.',
    IDENTITY_SOURCES,
  ),
  'reason?': text('Why the person is not known. Absent: known, or no identity is configured.'),
  'user?': text('The person. Absent: not known.'),
  'session?': text('`s-` and 16 hexadecimal digits of the hash of the session. Absent: not known.'),
});

/** The person who made a request. */
export interface Identity extends TypeOf<typeof identity> {}
