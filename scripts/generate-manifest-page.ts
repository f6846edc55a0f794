import { MANIFEST_SCHEMA } from '../core/manifest/schema.ts';
import type { SchemaNode } from '../core/manifest/schema-node.ts';

interface Section {
  path: string;
  node: SchemaNode;
}

/** Every object of the schema in the order of the file, as a heading with one table. */
function sectionsOf(path: string, node: SchemaNode): Section[] {
  const own = node.properties === undefined ? [] : [{ path, node }];
  const inner = Object.entries(node.properties ?? {}).flatMap(([name, child]) =>
    sectionsOf(path === '' ? name : `${path}.${name}`, child),
  );
  return [...own, ...inner, ...(node.items === undefined ? [] : sectionsOf(`${path}[]`, node.items))];
}

function typeOf(node: SchemaNode): string {
  if (node.const !== undefined) return `\`${node.const}\``;
  if (node.enum !== undefined) return node.enum.map((value) => `\`${value}\``).join(', ');
  if (node.type === 'array') return `list of ${typeOf(node.items ?? {})}`;
  if (node.properties !== undefined) return 'object';
  if (node.additionalProperties) return `map of ${typeOf(node.additionalProperties)}`;
  const wanted = node.$comment ?? node.else?.$comment;
  if (wanted !== undefined) return wanted;
  return `${WORDS[node.type ?? 'string']}${rangeOf(node)}`;
}

const WORDS = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: '`true` or `false`',
  object: 'object',
  array: 'list',
} as const;

function rangeOf({ minimum, maximum }: SchemaNode): string {
  if (minimum !== undefined && maximum !== undefined) return `, ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `, at least ${minimum}`;
  return maximum === undefined ? '' : `, at most ${maximum}`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

function tableOf({ path, node }: Section): string {
  const rows = Object.entries(node.properties ?? {}).map(([name, child]) =>
    [
      '',
      `\`${name}\``,
      cell(typeOf(child)),
      node.required?.includes(name) === true ? 'yes' : '',
      child.default === undefined ? '' : `\`${String(child.default)}\``,
      cell(child.description ?? ''),
      '',
    ]
      .join(' | ')
      .trim(),
  );
  const rules = [node, node.then, node.else?.then, node.else?.else]
    .map((rule) => rule?.$comment)
    .filter((rule) => rule !== undefined);
  return [
    `## ${path === '' ? 'The document' : `\`${path}\``}`,
    '',
    node.description ?? '',
    ...(rules.length === 0 ? [] : ['', ...rules.map((rule) => `- ${rule}`)]),
    '',
    '| Key | Value | Required | Default | Meaning |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

const INTRODUCTION = `# The manifest, \`agent.yaml\`

<!-- Made by scripts/generate.ts from core/manifest/schema.ts. Do not edit. -->

One YAML 1.2 document (core schema, at most 1 MiB) that declares one agent. The schema is strict: an unknown key is an
error. Two things are open: keys that begin with \`x-\`, and maps. \`platform validate agent.yaml\` reports every
problem at once with file, line, column and, where one is near, what was probably meant; \`platform validate --schema\`
prints the JSON Schema (2020-12) that editors can use.

## References

Wherever the tables say text, a URL, a path, a date or a version, the value can be a reference instead. A reference is
the whole value.

| Form | Value | Where it is looked up |
| --- | --- | --- |
| \`$env:VAR\` | the environment variable | the environment of the agent |
| \`$file:path\` | the content of the file | the folder of the manifest; a path that leaves it is an error, a symbolic link that leaves it a failed \`file:\` check |
| \`$secret:name\` | the secret | with \`PLATFORM_SECRET_DIR\` set the file of that name in that folder, else the variable \`PLATFORM_SECRET_<NAME>\` (upper case, everything but letters and digits as \`_\`) |
| \`$func:now_iso\`, \`$func:now_unix\`, \`$func:now_date\` | the time, at the moment of use | |

No reference: \`apiVersion\`, \`kind\`, \`metadata.name\`, names of environment variables, and values that the tables list
word by word, since the product goes by them before anything is resolved.
`;

export function manifestReferencePage(): string {
  return `${[INTRODUCTION, ...sectionsOf('', MANIFEST_SCHEMA).map(tableOf)].join('\n').trimEnd()}\n`;
}
