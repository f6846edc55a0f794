import { stringify } from 'yaml';

/** Style of the text around a change. */
export interface TextStyle {
  /** Whether lists are indented under their key. */
  indentSeq: boolean;
  newline: '\n' | '\r\n';
}

/** Detects the style of a text, so that inserted lines look alike. */
export function styleOf(text: string): TextStyle {
  return {
    indentSeq: !/^( *)[^\s#-][^\n]*:[ \t]*\r?\n\1- /m.test(text),
    newline: text.includes('\r\n') ? '\r\n' : '\n',
  };
}

/** Block lines for `key: value`, each indented by `indent` spaces. The last line has a line end. */
export function pairLines(key: string, value: unknown, indent: number, style: TextStyle): string {
  return blockLines({ [key]: value }, indent, style);
}

/** Block lines for one list item, like `pairLines`. */
export function itemLines(value: unknown, indent: number, style: TextStyle): string {
  return blockLines([value], indent, style);
}

function blockLines(value: unknown, indent: number, { indentSeq, newline }: TextStyle): string {
  // kubectl and helm parse `on` and `yes` as booleans (YAML 1.1), so such strings are quoted for YAML 1.1 and 1.2.
  const text = stringify(value, { indentSeq, lineWidth: 0, version: '1.1', compat: 'core' });
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : ' '.repeat(indent) + line))
    .join(newline);
}
