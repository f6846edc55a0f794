import { KEY, SECRET_WORD } from '../../core/manifest/literal-secrets.ts';
import { holdsPassword } from '../../core/manifest/wording.ts';
import { placeOf, wordAt, type Place, type Source } from './source.ts';

/** Names of files and directories that probably contain secrets: they are not opened. */
const SECRET_NAME =
  /^\.env(?:$|[._-])|^\.(?:ssh|aws|azure|gnupg|kube|docker)$|(?:^|[._-])(?:secrets?|credentials?|passwords?|private[_-]?keys?|api[_-]?keys?|id_(?:rsa|dsa|ecdsa|ed25519))(?:$|[._-])/i;

/** A query parameter of a URL that carries a key. */
const KEY_IN_URL = /[?&](?:[\w-]*(?:key|token|secret|sig|password))=/i;
const MASK = '[redacted]';

/** Whether a part of a path looks like secrets. */
export const isSecretPath = (path: string): boolean => path.split('/').some((part) => SECRET_NAME.test(part));

/** Whether a text contains a key, or the password of a URL. */
export const holdsSecret = (text: string): boolean =>
  KEY.test(text) || holdsPassword(text) || KEY_IN_URL.test(text);

/** The text of a file without the literals that look like secrets, and their places. The lines stay the same. */
export function redacted(source: Source): { text: string; places: Place[] } {
  const parts: string[] = [];
  const places: Place[] = [];
  let from = 0;
  for (const [index, { kind, text, start, end }] of source.tokens.entries()) {
    const isText = kind === 'string' || kind === 'template';
    if (!isText || !(holdsSecret(text) || (isNamedSecret(source, index) && looksRandom(text)))) continue;
    parts.push(
      source.text.slice(from, start),
      JSON.stringify(MASK),
      '\n'.repeat(linesIn(source, start, end)),
    );
    places.push(placeOf(source, index));
    from = end;
  }
  const rest = parts.join('') + source.text.slice(from);
  // Comments are not tokens.
  return { text: rest.replaceAll(new RegExp(KEY, 'g'), MASK), places };
}

const linesIn = ({ text }: Source, start: number, end: number): number =>
  text.slice(start, end).split('\n').length - 1;

/** `password = "…"`, `password: "…"` or `"password": "…"`. */
function isNamedSecret(source: Source, index: number): boolean {
  if (!/^[=:]$/.test(wordAt(source, index - 1))) return false;
  const named = source.tokens[index - 2];
  return (named?.kind === 'name' || named?.kind === 'string') && SECRET_WORD.test(named.text);
}

/** Neither empty nor the name of a variable. */
const looksRandom = (text: string): boolean => text.length >= 6 && !/^[A-Z][A-Z0-9_]*$/.test(text);
