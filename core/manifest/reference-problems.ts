import { nearest } from './nearest.ts';
import { REFERENCE_FUNCTIONS, REFERENCE_KINDS, type ReferenceKind } from './references.ts';
import { oneOf, quoted } from './wording.ts';

/** A mistake in a string that resembles a reference, and the reference that was probably meant. */
export interface ReferenceMistake {
  message: string;
  suggestion?: string;
}

const REFERENCE_LIKE = /^\$([A-Za-z]+):(.*)$/s;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const SECRET = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/;
const FORMS = oneOf(REFERENCE_KINDS.map((kind) => `$${kind}:`));

/** Checks the syntax of a reference, not its target. null: the reference is valid, or the text is not a reference. */
export function referenceMistake(text: string): ReferenceMistake | null {
  const match = REFERENCE_LIKE.exec(text);
  if (match === null) return null;
  const [, kind = '', name = ''] = match;
  const known = REFERENCE_KINDS.find((each) => each === kind);
  if (known !== undefined) return CHECKS[known](name);
  const near = nearest(kind, REFERENCE_KINDS);
  return {
    message: `${quoted(`$${kind}:`)} is not a valid reference prefix; use ${FORMS}`,
    ...(near === undefined ? {} : { suggestion: `$${near}:${name}` }),
  };
}

const CHECKS: Readonly<Record<ReferenceKind, (name: string) => ReferenceMistake | null>> = {
  env: checkVariable,
  file: checkFile,
  secret: checkSecret,
  func: checkFunction,
};

function checkVariable(name: string): ReferenceMistake | null {
  if (name === '') return { message: 'the reference $env: has no variable name' };
  if (VARIABLE.test(name)) return null;
  const cleaned = name.trim().replaceAll(/[^A-Za-z0-9_]/g, '_');
  return {
    message: `${quoted(name)} is not a valid environment variable name; use letters, digits and _, not starting with a digit`,
    ...(VARIABLE.test(cleaned) ? { suggestion: `$env:${cleaned}` } : {}),
  };
}

function checkFile(path: string): ReferenceMistake | null {
  if (path.trim() === '') return { message: 'the reference $file: has no file name' };
  if (/[\0\n\r]/.test(path)) return { message: 'a file name must be a single line' };
  if (path.startsWith('/') || path.startsWith('\\') || /^[A-Za-z]:[\\/]/.test(path))
    return { message: `the file path ${quoted(path)} must be relative to the manifest's directory` };
  let depth = 0;
  for (const part of path.split(/[\\/]/)) {
    if (part === '..') depth -= 1;
    else if (part !== '' && part !== '.') depth += 1;
    if (depth < 0) return { message: `the file ${quoted(path)} is outside the manifest's directory` };
  }
  return depth > 0 ? null : { message: `${quoted(path)} is a directory, not a file` };
}

function checkSecret(name: string): ReferenceMistake | null {
  if (name === '') return { message: 'the reference $secret: has no secret name' };
  if (SECRET.test(name)) return null;
  return {
    message: `${quoted(name)} is not a valid secret name; use letters, digits, ".", "_" and "-", starting and ending with a letter or digit`,
  };
}

function checkFunction(name: string): ReferenceMistake | null {
  if ((REFERENCE_FUNCTIONS as readonly string[]).includes(name)) return null;
  const near = nearest(name, REFERENCE_FUNCTIONS);
  return {
    message: `unknown function ${quoted(name)}; use ${oneOf(REFERENCE_FUNCTIONS)}`,
    ...(near === undefined ? {} : { suggestion: `$func:${near}` }),
  };
}
