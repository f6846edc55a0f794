import type { Manifest } from '../manifest/manifest.ts';
import { referenceOf } from '../manifest/references.ts';
import { quoted } from '../manifest/wording.ts';
import { cut } from '../untrusted/fields.ts';
import type { GeneratedFile } from './generated-file.ts';

/** The templates read this file if the manifest declares no system prompt. */
const DEFAULT_PATH = 'prompts/system.md';
const MAX_PROMPT = 20_000;
/** Folders of `--deploy`. */
const DEPLOYMENT = /^(?:k8s|helm)(?:\/|$)/i;
/** One part of a path that every file system accepts. */
const PART = /^(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[a-z0-9_][a-z0-9._ -]{0,98}[a-z0-9_]$|^[a-z0-9_]$/i;

/** The file with the system prompt, if the project needs one. */
export function promptFile(
  manifest: Manifest,
  written: string,
  taken: readonly GeneratedFile[],
): { files: GeneratedFile[]; notes: string[] } {
  const declared = manifest.spec.prompts?.system;
  const reference = declared === undefined ? { kind: 'file', name: DEFAULT_PATH } : referenceOf(declared);
  if (reference?.kind !== 'file') return { files: [], notes: [] };
  const path = reference.name.replace(/^(?:\.\/)+/, '');
  if (!isFree(path, taken))
    return { files: [], notes: [`add the system prompt ${quoted(path)} to the project`] };
  const text = promptText(written);
  const notes = text === '' ? [`${path} is a default text: the model wrote no system prompt`] : [];
  return { files: [{ path, content: `${text || defaultPrompt(manifest)}\n` }], notes };
}

/** Whether the path is safe on every file system, and neither a file of the project nor above or below one. */
function isFree(path: string, taken: readonly GeneratedFile[]): boolean {
  const parts = path.split('/');
  if (parts.length > 8 || !parts.every((part) => PART.test(part)) || DEPLOYMENT.test(path)) return false;
  const wanted = path.toLowerCase();
  return taken.every(({ path: other }) => {
    const known = other.toLowerCase();
    return known !== wanted && !known.startsWith(`${wanted}/`) && !wanted.startsWith(`${known}/`);
  });
}

function promptText(written: string): string {
  const plain = written.toWellFormed().replaceAll(/\r\n?/g, '\n');
  return cut(plain.replaceAll(/(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu, '').trim(), MAX_PROMPT).trimEnd();
}

function defaultPrompt({ metadata: { name, description } }: Manifest): string {
  const purpose = referenceOf(description) === null ? description.trim() : '';
  return `You are ${name}. ${purpose}\n\nAnswer briefly. Use the tools for facts, and say so if you do not know an answer.`;
}
