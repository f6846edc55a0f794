import { Document, isScalar } from 'yaml';
import type { ManifestSpec } from '../../core/manifest/manifest.ts';
import { MANIFEST_API_VERSION, MANIFEST_KIND } from '../../core/manifest/schema.ts';
import type { PathToken } from '../../core/manifest/yaml-tree.ts';
import { present } from '../../core/untrusted/present.ts';
import { quoted } from '../../core/untrusted/quoted.ts';
import { labelFrom } from './names.ts';

/** What a source contains about an agent. An absent member becomes a placeholder. */
export interface Draft {
  /** Any text; it becomes a DNS label. */
  name: string | undefined;
  /** A semantic version. */
  version: string | undefined;
  description: string | undefined;
  author?: string | undefined;
  spec: Partial<ManifestSpec>;
  /** Remarks on values of the manifest, by path. */
  remarks?: readonly Remark[];
}

export interface Remark {
  path: readonly PathToken[];
  text: string;
}

const PLACEHOLDERS = {
  version: '0.1.0',
  description: 'An agent.',
  model: { provider: 'openai', id: 'model-id', apiKey: '$env:OPENAI_API_KEY' },
} as const;

/** Paths of the source that a comment lists. */
const MAX_LISTED = 100;

/** Optional parts of a manifest that only its author knows: commented lines, if the source does not have the part. */
export const OPTIONAL_PARTS = {
  prompts: 'prompts:\n  system: $file:prompts/system.md',
  tools: 'tools:\n  - name: tool-name\n    description: What the tool does.',
  memory: 'memory:\n  shortTerm:\n    backend: redis\n    ttlSeconds: 3600',
  requires: 'requires:\n  envVars:\n    - VARIABLE_NAME',
  guardrails: 'guardrails:\n  input:\n    - type: prompt-injection\n      action: block',
  evaluation: 'evaluation:\n  datasets:\n    - name: smoke\n      path: evaluation/smoke.jsonl',
  api: 'api:\n  port: 8000',
} as const satisfies Partial<Record<keyof ManifestSpec, string>>;

/**
 * The manifest of a draft, with comments.
 * @param source name of the source's format
 * @param fallbackName name of the agent if the source has none
 * @param unused paths of the source that have no place in the manifest
 */
export function manifestText(
  draft: Draft,
  { source, fallbackName, unused }: { source: string; fallbackName: string; unused: readonly string[] },
): string {
  return [
    `# Manifest of this agent, from ${source}. Replace the placeholders. All keys: platform validate --schema\n`,
    documentOf(draft, fallbackName).toString({ lineWidth: 0 }),
    ...Object.entries(OPTIONAL_PARTS)
      .filter(([part]) => !(part in draft.spec))
      .map(([, lines]) => lines.replaceAll(/^/gm, '  # ') + '\n'),
    ...(unused.length === 0 ? [] : ['# Not imported, because a manifest has no place for it:\n']),
    ...unused.slice(0, MAX_LISTED).map((path) => `#   ${oneLine(path)}\n`),
    ...(unused.length > MAX_LISTED ? [`#   and ${unused.length - MAX_LISTED} more\n`] : []),
  ].join('');
}

function documentOf({ remarks = [], ...draft }: Draft, fallbackName: string): Document {
  const name = labelFrom(draft.name ?? '') ?? fallbackName;
  const { model = PLACEHOLDERS.model, ...spec } = draft.spec;
  const manifest = {
    apiVersion: MANIFEST_API_VERSION,
    kind: MANIFEST_KIND,
    metadata: present({
      name,
      version: draft.version ?? PLACEHOLDERS.version,
      description: draft.description ?? PLACEHOLDERS.description,
      author: draft.author,
    }),
    spec: { model, ...spec },
  };
  const document = new Document(manifest, { aliasDuplicateObjects: false });
  for (const { path, text } of [...ownRemarks(draft, name), ...remarks]) {
    const node: unknown = document.getIn(path, true);
    if (isScalar(node)) node.comment = ` ${oneLine(text)}`;
  }
  return document;
}

function ownRemarks(draft: Omit<Draft, 'remarks'>, name: string): Remark[] {
  const remarks: Remark[] = [];
  const missing = (path: string[], what: string) =>
    remarks.push({ path, text: `Placeholder: the source does not have ${what}.` });
  if (draft.name === undefined) missing(['metadata', 'name'], 'a name for the agent');
  else if (draft.name !== name)
    remarks.push({ path: ['metadata', 'name'], text: `${quoted(draft.name)} in the source` });
  if (draft.version === undefined) missing(['metadata', 'version'], 'a semantic version');
  if (draft.description === undefined) missing(['metadata', 'description'], 'a description');
  if (draft.spec.model === undefined) missing(['spec', 'model', 'provider'], 'the model');
  return remarks;
}

/** Text of the source in a comment: it stays on its line and cannot hide other text. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd');
}
