import type { SyntaxNode } from '@lezer/common';
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
  for (const node of source.nodes) {
    if (!isString(node) || node.from < from) continue;
    const written = textOf(source, node);
    const text = literalOf(node, source.text) ?? written.replaceAll(CODE, '');
    if (!(holdsSecret(text) || (isNamedSecret(source, node) && looksRandom(text)))) continue;
    const lines = written.split('\n').length - 1;
    parts.push(source.text.slice(from, node.from), JSON.stringify(MASK), '\n'.repeat(lines));
    places.push(placeOf(source, node));
    from = node.to;
  }
  const rest = parts.join('') + source.text.slice(from);
  // Comments are not strings.
  return { text: rest.replaceAll(new RegExp(KEY, 'g'), MASK), places };
}

/** `password = "…"`, `password: str = "…"`, `password: "…"` or `"password": "…"`. */
const NAMED = /([\w$-]+)["'`]?\s*(?::[^=,;"'`(){}\n]{0,60}=|[=:])\s*$/;

function isNamedSecret({ text }: Source, { from }: SyntaxNode): boolean {
  const [, name = ''] = NAMED.exec(text.slice(Math.max(0, from - 120), from)) ?? [];
  return SECRET_WORD.test(name);
}

/** Neither empty nor the name of a variable. */
const looksRandom = (text: string): boolean => text.length >= 6 && !/^[A-Z][A-Z0-9_]*$/.test(text);
