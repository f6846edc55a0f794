import type { Manifest } from '../../core/manifest/manifest.ts';
import { MANIFEST_API_VERSION, MANIFEST_KIND } from '../../core/manifest/schema.ts';
import { referenceMistake } from '../../core/manifest/reference-problems.ts';
import type { Draft, Item } from './draft.ts';
import type { GuardrailFound, ToolFound } from './discovery.ts';
import { modelSection } from './model-section.ts';
import { apiSection, memorySection, requiresSection } from './operation-sections.ts';
import { mcpSection } from './server-section.ts';
import { flowMap, found, literal, oneLine, scalar, YamlLines } from './yaml-lines.ts';

export interface ManifestOptions {
  /** Name of the agent for a new manifest. */
  name: string;
  /** Identity from an earlier manifest, which the code does not show; null: there is none. */
  metadata: Manifest['metadata'] | null;
  /** The first line; absent: that of a scan. */
  head?: string;
  /** Path of a file of the scanned directory relative to the manifest; null: it cannot be referenced. */
  relative: (path: string) => string | null;
}

/** What the code does not show, as comments. */
const EXAMPLES = {
  prompts: 'prompts: { system: $file:prompts/system.md }',
  tools: 'tools: [{ name: search, description: Finds documents, annotations: { readOnlyHint: true } }]',
  guardrails:
    'guardrails: { input: [{ type: prompt-injection, action: block }], output: [{ type: toxicity-filter }] }',
  observability: 'observability: { tracing: { backend: otel, endpoint: $env:OTEL_EXPORTER_OTLP_ENDPOINT } }',
} as const;
const HEAD = 'Written by "platform scan". A comment names the places in the code where a value was found.';

/** The manifest as text: a valid manifest for any draft. */
export function manifestText(draft: Draft, options: ManifestOptions): string {
  const lines = new YamlLines();
  lines.comment(0, options.head ?? HEAD);
  lines.comment(0, 'Commented keys are examples of what the code does not show.');
  lines.add(0, `apiVersion: ${MANIFEST_API_VERSION}`).add(0, `kind: ${MANIFEST_KIND}`);
  metadataSection(lines, draft, options);
  lines.add(0, 'spec:');
  modelSection(lines, draft);
  promptsSection(lines, draft, options);
  toolsSection(lines, draft.tools);
  mcpSection(lines, draft.servers);
  egressSection(lines, draft);
  memorySection(lines, draft.stores);
  requiresSection(lines, draft);
  guardrailsSection(lines, draft.guardrails);
  evaluationSection(lines, draft);
  observabilitySection(lines, draft);
  apiSection(lines, draft);
  return lines.toString();
}

function metadataSection(lines: YamlLines, draft: Draft, { name, metadata }: ManifestOptions): void {
  lines.add(0, 'metadata:', metadata === null ? '' : 'kept from the earlier manifest');
  if (metadata !== null) {
    const { tags, ...texts } = metadata;
    for (const key of ['name', 'version', 'description', 'author', 'license'] as const)
      if (texts[key] !== undefined) lines.add(1, `${key}: ${scalar(texts[key])}`);
    if (tags !== undefined) lines.add(1, `tags: [${tags.map(scalar).join(', ')}]`);
    return;
  }
  const { description, frameworks } = draft;
  lines.add(1, `name: ${scalar(name)}`, 'from the name of the directory');
  lines.add(1, 'version: 0.1.0', 'not in the code; replace this example');
  if (description === null)
    lines.add(1, 'description: An agent.', 'not in the code; describe what the agent does');
  else lines.add(1, `description: ${literal(oneLine(description))}`, 'proposed by the model, please review');
  if (frameworks.length === 0) return;
  lines.add(1, 'tags:');
  for (const framework of frameworks) lines.add(2, `- ${scalar(framework.name)}`, found(framework));
}

function promptsSection(lines: YamlLines, { prompts }: Draft, { relative }: ManifestOptions): void {
  const files = prompts.flatMap((prompt) => {
    const path = relative(prompt.path);
    return path === null || referenceMistake(`$file:${path}`) !== null ? [] : [{ ...prompt, path }];
  });
  const system = files.find(({ path }) => /system/i.test(path)) ?? files[0];
  if (system === undefined) return void lines.comment(1, EXAMPLES.prompts);
  lines.add(1, 'prompts:').add(2, `system: ${scalar(`$file:${system.path}`)}`, found(system));
  for (const other of files)
    if (other !== system) lines.comment(2, `also in the code: ${other.path} (${found(other)})`);
}

function toolsSection(lines: YamlLines, tools: readonly Item<ToolFound>[]): void {
  if (tools.length === 0) return void lines.comment(1, EXAMPLES.tools);
  lines.add(1, 'tools:');
  for (const tool of tools) {
    lines.add(2, `- name: ${literal(tool.name)}`, found(tool));
    lines.add(3, `type: ${tool.type}`);
    if (tool.description !== null)
      lines.add(3, `description: ${literal(oneLine(tool.description))}`, proposedNote(tool, 'description'));
    if (tool.module !== null) lines.add(3, `module: ${literal(tool.module)}`);
    if (tool.function !== null) lines.add(3, `function: ${literal(tool.function)}`);
    const hints = Object.entries(tool.annotations).map(([hint, value]) => [hint, String(value)] as const);
    if (hints.length === 0) lines.comment(3, 'annotations: { readOnlyHint: false, destructiveHint: true }');
    else lines.add(3, `annotations: ${flowMap(hints)}`, proposedNote(tool, 'annotations'));
  }
}

function egressSection(lines: YamlLines, { egress = { models: [], hosts: [] } }: Draft): void {
  const lists = Object.entries(egress).filter(([, items]) => items.length > 0);
  if (lists.length > 0) lines.add(1, 'egress:');
  for (const [key, items] of lists) {
    lines.add(2, `${key}:`);
    for (const item of items) lines.add(3, `- ${literal(item.name)}`, found(item));
  }
}

const proposedNote = ({ proposed }: Item<object>, member: string): string =>
  proposed.includes(member) && !proposed.includes('item') ? 'proposed by the model, please review' : '';

function guardrailsSection(lines: YamlLines, guardrails: readonly Item<GuardrailFound>[]): void {
  if (guardrails.length === 0) return void lines.comment(1, EXAMPLES.guardrails);
  lines.add(1, 'guardrails:');
  for (const side of ['input', 'output'] as const) {
    const own = guardrails.filter(({ where }) => where === side);
    if (own.length > 0) lines.add(2, `${side}:`);
    for (const guardrail of own) {
      lines.add(3, `- type: ${guardrail.type}`, found(guardrail));
      if (guardrail.action !== null) lines.add(4, `action: ${literal(guardrail.action)}`);
      if (guardrail.type !== 'custom') continue;
      if (guardrail.module !== null) lines.add(4, `module: ${literal(guardrail.module)}`);
      if (guardrail.function !== null) lines.add(4, `function: ${literal(guardrail.function)}`);
    }
  }
}

function evaluationSection(lines: YamlLines, { evaluations: [evaluation] }: Draft): void {
  if (evaluation === undefined)
    lines.comment(1, 'evaluation: { datasets: [{ name: smoke, path: eval/smoke.jsonl }], ciGate: true }');
  else
    lines
      .add(1, 'evaluation:')
      .add(2, `framework: ${scalar(evaluation.framework)}`, found(evaluation))
      .comment(2, 'datasets: [{ name: smoke, path: eval/smoke.jsonl }]');
}

function observabilitySection(lines: YamlLines, { tracing, metrics, logging }: Draft): void {
  const parts = Object.entries({ tracing, metrics, logging }).flatMap(([name, [part]]) =>
    part === undefined ? [] : [{ name, part }],
  );
  if (parts.length === 0) return void lines.comment(1, EXAMPLES.observability);
  lines.add(1, 'observability:');
  for (const { name, part } of parts) {
    lines.add(2, `${name}:`, found(part));
    lines.add(3, name === 'logging' ? 'structured: true' : `backend: ${scalar(part.backend)}`);
  }
}
