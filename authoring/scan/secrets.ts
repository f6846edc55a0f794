import { KEY, SECRET_WORD } from '../../core/manifest/literal-secrets.ts';
import { holdsPassword } from '../../core/manifest/wording.ts';
import { placeOf, textOf, type Place, type Source } from './source.ts';
import { isString, literalOf } from './syntax.ts';

/** Names of files and directories that probably contain secrets: they are not opened. */
const SECRET_NAME =
  /^\.env(?:$|[._-])|^\.(?:ssh|aws|azure|gnupg|kube|docker)$|(?:^|[._-])(?:secrets?|credentials?|passwords?|private[_-]?keys?|api[_-]?keys?|id_(?:rsa|dsa|ecdsa|ed25519))(?:$|[._-])/i;

/** A query parameter of a URL that carries a key. */
const KEY_IN_URL = /[?&](?:[\w-]*(?:key|token|secret|sig|password))=/i;
/** Code in a string. */
const CODE = /\$?\{[^{}]*\}/g;
const MASK = '[redacted]';

/** Whether a part of a path is a name of secrets. */
export const isSecretPath = (path: string): boolean => path.split('/').some((part) => SECRET_NAME.test(part));

/** Whether a text contains a key, or the password of a URL. */
export const holdsSecret = (text: string): boolean =>
  KEY.test(text) || holdsPassword(text) || KEY_IN_URL.test(text);

/** A quoted text of one line. The limit bounds the time for a line of escaped quotes; secrets are shorter. */
const QUOTED = /(["'`])((?:\\.|(?!\1)[^\\\n]){1,1000})\1/g;

/** A text in quotes, as it is written and without code in it. */
interface Literal {
  from: number;
  to: number;
  text: string;
}

/** The text of a file without the literals that look like secrets, and their places. The lines stay the same. */
export function redacted(source: Source): { text: string; places: Place[] } {
  const parts: string[] = [];
  const places: Place[] = [];
  let from = 0;
  for (const literal of literalsOf(source)) {
    const { text } = literal;
    if (literal.from < from || !(holdsSecret(text) || (isNamedSecret(source, literal) && looksRandom(text))))
      continue;
    const lines = source.text.slice(literal.from, literal.to).split('\n').length - 1;
    parts.push(source.text.slice(from, literal.from), JSON.stringify(MASK), '\n'.repeat(lines));
    places.push(placeOf(source, literal));
    from = literal.to;
  }
  const rest = parts.join('') + source.text.slice(from);
  // Keys are masked without quotes, too.
  return { text: rest.replaceAll(new RegExp(KEY, 'g'), MASK), places };
}

/**
 * The strings that the parser found, and every other quoted text: attributes of JSX, comments, and code that the parser does not
 * understand, such as a file with conflict markers.
 */
function literalsOf(source: Source): Literal[] {
  const { text } = source;
  const strings = source.nodes.filter(isString).map((node): Literal => {
    const { from, to } = node;
    return { from, to, text: literalOf(node, text) ?? textOf(source, node).replaceAll(CODE, '') };
  });
  const quoted = [...text.matchAll(QUOTED)].map(({ index, 0: written, 2: content = '' }): Literal => ({
    from: index,
    to: index + written.length,
    text: content.replaceAll(CODE, ''),
  }));
  // A string of the parser comes before a quoted text that begins at the same place: it may have several lines.
  return [...strings, ...quoted].sort((a, b) => a.from - b.from || b.to - a.to);
}

/** `password = "…"`, `password: str = "…"`, `password: "…"` or `"password": "…"`. */
const NAMED = /([\w$-]+)["'`]?\s*(?::[^=,;"'`(){}\n]{0,60}=|[=:])\s*$/;

function isNamedSecret({ text }: Source, { from }: Literal): boolean {
  const [, name = ''] = NAMED.exec(text.slice(Math.max(0, from - 120), from)) ?? [];
  return SECRET_WORD.test(name);
}

/** Neither empty nor the name of a variable. */
const looksRandom = (text: string): boolean => text.length >= 6 && !/^[A-Z][A-Z0-9_]*$/.test(text);
