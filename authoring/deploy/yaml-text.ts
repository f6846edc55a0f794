import { Document, isMap, isNode, isScalar } from 'yaml';

/** Position in a YAML document: keys of mappings and indexes of lists. */
export type Path = readonly (string | number)[];

export interface YamlChanges {
  /** Comment above the first line. */
  heading?: string;
  /** Comments above a key or an item. */
  comments?: readonly (readonly [Path, string])[];
  /** Values that replace others, or are added. */
  values?: readonly (readonly [Path, unknown])[];
}

/** Writes a value as YAML, with comments for its readers. */
export function yamlText(value: object, { heading, comments = [], values = [] }: YamlChanges = {}): string {
  // kubectl and helm read YAML 1.1, in which `on` is a boolean. `compat` also quotes what YAML 1.2 would read differently.
  const document = new Document(value, { version: '1.1', compat: 'core', aliasDuplicateObjects: false });
  for (const [path, replacement] of values) document.setIn(path, replacement);
  for (const [path, comment] of comments) addComment(document, path, comment);
  if (heading !== undefined) document.commentBefore = commented(heading);
  return document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Infinity });
}

function addComment(document: Document, path: Path, comment: string): void {
  const parent: unknown = document.getIn(path.slice(0, -1), true);
  const node: unknown = isMap(parent)
    ? parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1))?.key
    : document.getIn(path, true);
  if (!isNode(node)) throw new Error(`nothing to comment at ${path.join('.')}`);
  node.commentBefore = commented(comment);
}

/** Other characters than printable ASCII could end the comment: YAML 1.1 has five kinds of line breaks. */
const commented = (text: string): string =>
  text
    .replaceAll(/[^\n -~]/g, '?')
    .split('\n')
    .map((line) => ` ${line}`)
    .join('\n');
