import { stringify } from 'yaml';

/** How the text around a change is written. */
export interface TextStyle {
  /** Lists are indented under their key. */
  indentSeq: boolean;
  newline: '\n' | '\r\n';
}

/** The style of a text, as far as what is put into it should look alike. */
export function styleOf(text: string): TextStyle {
  return {
    indentSeq: !/^( *)[^\s#-][^\n]*:[ \t]*\r?\n\1- /m.test(text),
    newline: text.includes('\r\n') ? '\r\n' : '\n',
  };
}

/** Lines of a block that hold `key: value`, each after `indent` spaces, the last ended. */
export function pairLines(key: string, value: unknown, indent: number, style: TextStyle): string {
  return blockLines({ [key]: value }, indent, style);
}

/** Lines of a block that hold one list item. */
export function itemLines(value: unknown, indent: number, style: TextStyle): string {
  return blockLines([value], indent, style);
}

function blockLines(value: unknown, indent: number, { indentSeq, newline }: TextStyle): string {
  // The command line tools of Kubernetes still read `on` and `yes` as booleans: quoted for both readings of YAML.
  const text = stringify(value, { indentSeq, lineWidth: 0, version: '1.1', compat: 'core' });
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : ' '.repeat(indent) + line))
    .join(newline);
}
