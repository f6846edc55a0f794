import { isRecord } from '../untrusted/fields.ts';
import { referenceOf } from './references.ts';
import { holdsPassword } from './wording.ts';
import { formatPath, type PathToken } from './yaml-tree.ts';

/** Names of values that are secrets: fields of the manifest, environment variables, variables of a program. */
export const SECRET_WORD =
  /(?:passw(?:or)?d|secret|token|credential|authorization|(?:api|private|secret|access)[_-]?key)$/i;

/** Forms of keys and tokens of common vendors. */
export const KEY =
  /\b(?:sk-[\w-]{16,}|sk_(?:live|test)_\w{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[abprs]-[\w-]{10,}|AKIA[A-Z0-9]{12,}|AIza[\w-]{30,}|gsk_\w{20,}|hf_\w{20,}|glpat-[\w-]{16,}|npm_\w{30,}|eyJ[\w-]{10,2000}\.eyJ[\w-]{10,2000}\.[\w-]*)|-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/** An argument, a query parameter or a part of a connection string, such as `password=x`. */
const ASSIGNED = /(?:passw(?:or)?d|secret|token|(?:api|private|secret|access)[_-]?key)=[^\s$]/i;
/** Fields of the manifest, and variables of an MCP server such as `OPENAI_KEY`. */
const KEY_NAME = /key$/i;
/** Not a secret for its vendor, but only of use together with one. */
const PUBLIC_KEY = 'publicKey';

/** `none`: the required key of a model whose provider needs no key. */
const NO_KEY: ReadonlySet<string> = new Set(['', 'none']);

type Path = readonly PathToken[];

/** Whether the value at a path is a secret that is written into the manifest. Never show such a value. */
export function isLiteralSecret(path: Path, value: unknown): boolean {
  if (typeof value !== 'string' || NO_KEY.has(value) || referenceOf(value) !== null) return false;
  const name = path.at(-1);
  if (typeof name === 'string' && (SECRET_WORD.test(name) || KEY_NAME.test(name))) return true;
  return KEY.test(value) || ASSIGNED.test(value) || holdsUnmaskedPassword(value);
}

/**
 * Whether a URL has a password that `quoted` does not mask, because it has a character that a URL must encode. Not a regular
 * expression, which would take quadratic time.
 */
function holdsUnmaskedPassword(value: string): boolean {
  const start = value.indexOf('://');
  const at = value.indexOf('@', start);
  if (start < 0 || at < 0) return false;
  const login = value.slice(start + 3, at);
  const colon = login.indexOf(':');
  return colon >= 0 && !/\s/.test(login) && /[:/]/.test(login.slice(colon + 1));
}

/** The paths of all secrets that are written into a manifest, valid or not, except public keys and values under `x-` keys. */
export function literalSecrets(manifest: unknown): string[] {
  return pathsIn(manifest, []).map(formatPath);
}

function pathsIn(value: unknown, path: Path): Path[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => pathsIn(item, [...path, index]));
  if (isRecord(value))
    return Object.entries(value).flatMap(([key, member]) =>
      key.startsWith('x-') || key === PUBLIC_KEY ? [] : pathsIn(member, [...path, key]),
    );
  return isLiteralSecret(path, value) || isUrlWithPassword(value) ? [path] : [];
}

const isUrlWithPassword = (value: unknown): boolean =>
  typeof value === 'string' && /^[a-z][a-z0-9+.-]*:\/\//i.test(value) && holdsPassword(value);
