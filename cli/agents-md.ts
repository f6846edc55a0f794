import type { Guardrail, Manifest, Tool } from '../core/manifest/manifest.ts';
import { markdownCode, markdownText } from './markdown.ts';
import { shellWord } from './rendered.ts';

/** Markers of the block of an agent. */
function markersOf(name: string): { begin: string; end: string } {
  // A name that is a reference may have a character that ends a comment.
  const safe = name.replaceAll('>', '');
  return { begin: `<!-- BEGIN platform agent ${safe} -->`, end: `<!-- END platform agent ${safe} -->` };
}

/**
 * A block for AGENTS.md, the file that coding assistants read: what the agent declares and what a change must keep.
 * `file`: path of the manifest from the directory of AGENTS.md.
 */
export function agentsMdBlock({ metadata, spec }: Manifest, file: string): string {
  const { begin, end } = markersOf(metadata.name);
  const { provider, id } = spec.model;
  const sections = [
    `## Agent ${markdownCode(metadata.name)} ${markdownText(metadata.version)}`,
    markdownText(metadata.description),
    `${markdownCode(file)} declares what this agent is and may do. Change it in the same commit as the code, and then run ${markdownCode(`platform validate ${shellWord(file)}`)} and ${markdownCode(`platform audit ${shellWord(file)}`)}.`,
    `- Model: ${markdownCode(id)} of ${markdownText(provider)}`,
    listed('Tools', spec.tools ?? [], toolText),
    listed('Guardrails on input, which every request must pass', spec.guardrails?.input ?? [], guardrailText),
    listed(
      'Guardrails on output, which every response must pass',
      spec.guardrails?.output ?? [],
      guardrailText,
    ),
    listed('Environment variables', spec.requires?.envVars ?? [], markdownCode),
    listed(
      'Evaluation datasets',
      spec.evaluation?.datasets ?? [],
      ({ name, path }) => `${markdownText(name)}: ${markdownCode(path)}`,
    ),
  ];
  return [begin, ...sections.filter((section) => section !== ''), end].join('\n\n');
}

function listed<T>(title: string, items: readonly T[], textOf: (item: T) => string): string {
  if (items.length === 0) return '';
  return [`${title}:\n`, ...items.map((item) => `- ${textOf(item)}`)].join('\n');
}

function toolText({ name, description, annotations }: Tool): string {
  const marks = [
    annotations?.destructiveHint === true ? 'destructive: needs confirmation by the user' : '',
    annotations?.readOnlyHint === true ? 'read-only' : '',
  ].filter((mark) => mark !== '');
  // The description is a part of a list with commas.
  const what = description === undefined ? [] : [markdownText(description.replace(/\.\s*$/, ''))];
  return [markdownCode(name), ...what, ...marks].join(', ');
}

function guardrailText({ type, action }: Guardrail): string {
  return action === undefined ? markdownCode(type) : `${markdownCode(type)}, action ${markdownText(action)}`;
}

/** Replaces the agent's block in `text`, or appends it, with the line ends of `text`. Other text stays as it is. */
export function withAgentsMdBlock(
  text: string,
  name: string,
  written: string,
): { ok: true; text: string } | { ok: false; reason: string } {
  const { begin, end } = markersOf(name);
  const [before = '', ...rest] = text.split(begin);
  const [lineEnd = '\n'] = /\r?\n/.exec(text) ?? [];
  const block = written.replaceAll('\n', lineEnd);
  if (rest.length === 0) {
    const separated = text === '' ? '' : text.replace(/(?:\r?\n)+$/, '') + lineEnd + lineEnd;
    return { ok: true, text: separated + block + lineEnd };
  }
  const after = (rest[0] ?? '').split(end);
  if (rest.length > 1 || before.includes(end) || after.length !== 2)
    return { ok: false, reason: `must have the lines "${begin}" and "${end}" once, in this order` };
  return { ok: true, text: `${before}${block}${after[1]}` };
}
