import type { FieldError } from '../../core/untrusted/fields.ts';

/** The first error of a file with an unexpected form. */
export function describeErrors([first]: readonly FieldError[]): string {
  return first === undefined ? 'the form is not known' : `${first.path} ${first.message}`.trim();
}
