import type { FieldError } from '../untrusted/fields.ts';
import { cutText } from './common.ts';
import { integer, oneOf, text, type Field } from './field.ts';
import { list, namedObject } from './object.ts';

/** The parsers that are made of fields report this type, so it cannot follow from a field. */
export const fieldError: Field<FieldError> = namedObject('FieldError', 'An invalid part of the input.', {
  path: cutText('For example `gap.issues[3].severity`; empty for the whole body.'),
  message: cutText('What is wrong.'),
});

export const problem = namedObject('Problem', 'An error (RFC 9457).', {
  type: oneOf('The title says all about the kind of error.', ['about:blank']),
  title: text('The text of the status.'),
  status: integer('The status of the response.', { min: 400, max: 599 }),
  detail: text('What failed and, if it helps, what to do.'),
  'errors?': list('The invalid parts of the input.', fieldError),
  'signIn?': text('Path of the sign-in with the identity provider, if a credential is missing.'),
  'validIds?': list('All ids, if the given id is unknown.', text('An id.')),
  'namespaces?': list('The namespaces that have the name, if `namespace` is required.', text('A namespace.')),
});
