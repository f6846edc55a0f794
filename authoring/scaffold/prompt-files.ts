import type { Manifest } from '../../core/manifest/manifest.ts';
import { referenceOf, referencesIn } from '../../core/manifest/references.ts';
import { quoted } from '../../core/manifest/wording.ts';
import { cut } from '../../core/untrusted/fields.ts';
import type { GeneratedFile } from './generated-file.ts';

/** Texts of the user by the path that the manifest declares. */
export type PromptTexts = ReadonlyMap<string, string>;

/** The templates read this file if the manifest declares no system prompt. */
const DEFAULT_PATH = 'prompts/system.md';
const MAX_PROMPT = 20_000;
/** Folders of `--deploy`. */
const DEPLOYMENT = /^(?:k8s|helm)(?:\/|$)/i;
/** One part of a path that every file system accepts. */
const PART = /^(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[a-z0-9_][a-z0-9._ -]{0,98}[a-z0-9_]$|^[a-z0-9_]$/i;

/** The paths of the files that `spec.prompts` refers to, as declared; each once. */
export function declaredPromptPaths(manifest: Manifest): string[] {
  const files = referencesIn(manifest).filter(
    ({ kind, path }) => kind === 'file' && path.startsWith('spec.prompts.'),
  );
  return [...new Set(files.map(({ name }) => name))];
}

/** Whether a model writes the system prompt: the manifest has no text, and the user has no file. */
export function needsSystemPrompt(manifest: Manifest, texts: PromptTexts): boolean {
  const path = systemPath(manifest);
  return path !== null && !texts.has(path);
}

/** The declared file of the system prompt; null: the prompt is not in a file. */
function systemPath({ spec }: Manifest): string | null {
  const declared = spec.prompts?.system;
  const reference = declared === undefined ? { kind: 'file', name: DEFAULT_PATH } : referenceOf(declared);
  return reference?.kind === 'file' ? reference.name : null;
}

/**
 * The files of `spec.prompts`. Files of the user are copied unchanged. Only a system prompt that does not exist is the text of a model,
 * and a later generation keeps it, because the user may have edited it.
 */
export function promptFiles(
  manifest: Manifest,
  { written, texts }: { written: string; texts: PromptTexts },
  taken: readonly GeneratedFile[],
): { files: GeneratedFile[]; notes: string[] } {
  const files: GeneratedFile[] = [];
  const notes: string[] = [];
  const system = systemPath(manifest);
  const paths = new Set([...(system === null ? [] : [system]), ...declaredPromptPaths(manifest)]);
  for (const declared of paths) {
    const path = declared.replace(/^(?:\.\/)+/, '');
    const what = declared === system ? 'system prompt' : 'prompt file';
    const text = texts.get(declared);
    if (files.some((file) => file.path === path)) continue;
    if (!isFree(path, [...taken, ...files])) notes.push(`add the ${what} ${quoted(path)} to the project`);
    else if (text !== undefined) files.push({ path, content: text });
    else if (declared !== system)
      notes.push(`add the ${what} ${quoted(path)} to the project: it is not in the folder of the manifest`);
    else {
      const prompt = promptText(written);
      if (prompt === '') notes.push(`${path} is a default text: the model wrote no system prompt`);
      files.push({ path, content: `${prompt || defaultPrompt(manifest)}\n`, kept: true });
    }
  }
  return { files, notes };
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
