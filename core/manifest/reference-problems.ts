import { nearest } from './nearest.ts';
import { REFERENCE_FUNCTIONS, REFERENCE_KINDS } from './references.ts';
import { oneOf, shown } from './wording.ts';

/** What is wrong with a string that looks like a reference, and what was probably meant. */
export interface ReferenceMistake {
  message: string;
  suggestion?: string;
}

const LOOKS_LIKE = /^\$([A-Za-z]+):(.*)$/s;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const SECRET = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/;
const FORMS = oneOf(REFERENCE_KINDS.map((kind) => `$${kind}:`));

/** Checks the form of a reference without looking at what it refers to; null: it is fine, or no reference at all. */
export function referenceMistake(text: string): ReferenceMistake | null {
  const match = LOOKS_LIKE.exec(text);
  if (match === null) return null;
  const [, kind = '', name = ''] = match;
  switch (kind) {
    case 'env':
      return checkVariable(name);
    case 'file':
      return checkFile(name);
    case 'secret':
      return checkSecret(name);
    case 'func':
      return checkFunction(name);
    default: {
      const near = nearest(kind, REFERENCE_KINDS);
      return {
        message: `${shown(`$${kind}:`)} is no kind of reference; use ${FORMS}`,
        ...(near === undefined ? {} : { suggestion: `$${near}:${name}` }),
      };
    }
  }
}

function checkVariable(name: string): ReferenceMistake | null {
  if (name === '') return { message: 'the reference $env: names no variable' };
  if (VARIABLE.test(name)) return null;
  const cleaned = name.trim().replaceAll(/[^A-Za-z0-9_]/g, '_');
  return {
    message: `${shown(name)} is no name of an environment variable: letters, digits and _, no digit first`,
    ...(VARIABLE.test(cleaned) ? { suggestion: `$env:${cleaned}` } : {}),
  };
}

function checkFile(path: string): ReferenceMistake | null {
  if (path.trim() === '') return { message: 'the reference $file: names no file' };
  if (/[\0\n\r]/.test(path)) return { message: 'a file name is one line of text' };
  if (path.startsWith('/') || path.startsWith('\\') || /^[A-Za-z]:[\\/]/.test(path))
    return { message: `the file ${shown(path)} must be given relative to the manifest's folder` };
  let depth = 0;
  for (const part of path.split(/[\\/]/)) {
    if (part === '..') depth -= 1;
    else if (part !== '' && part !== '.') depth += 1;
    if (depth < 0) return { message: `the file ${shown(path)} is outside the manifest's folder` };
  }
  return depth > 0 ? null : { message: `${shown(path)} is a folder, not a file` };
}

function checkSecret(name: string): ReferenceMistake | null {
  if (name === '') return { message: 'the reference $secret: names no secret' };
  if (SECRET.test(name)) return null;
  return { message: `${shown(name)} is no name of a secret: letters, digits, ".", "_" and "-" between them` };
}

function checkFunction(name: string): ReferenceMistake | null {
  if ((REFERENCE_FUNCTIONS as readonly string[]).includes(name)) return null;
  const near = nearest(name, REFERENCE_FUNCTIONS);
  return {
    message: `there is no function ${shown(name)}; use ${oneOf(REFERENCE_FUNCTIONS)}`,
    ...(near === undefined ? {} : { suggestion: `$func:${near}` }),
  };
}
