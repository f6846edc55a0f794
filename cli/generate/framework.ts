import type { Manifest } from '../../core/manifest/manifest.ts';
import { NO_CODE, parseWrittenCode } from '../../authoring/scaffold/written-code.ts';
import { FRAMEWORK_PROJECTS } from '../../authoring/scaffold/framework-projects.ts';
import type { Framework } from '../../authoring/scaffold/frameworks.ts';
import type { GeneratedFile } from '../../authoring/scaffold/generated-file.ts';
import { needsSystemPrompt, type PromptTexts } from '../../authoring/scaffold/prompt-files.ts';
import { projectOf } from '../../authoring/scaffold/project.ts';
import { responseOf } from '../../llm/json-response.ts';
import { frameworkCodeRequest } from '../../llm/prompts/framework-code.ts';
import { selectProvider } from '../../llm/select-provider.ts';
import type { Environment } from '../../runtime/env.ts';
import { VERSION } from '../../runtime/version.ts';

export interface FrameworkOptions {
  framework: Framework;
  /** Name of the LLM provider; absent: chosen automatically. */
  provider?: string;
  env: Environment;
  /** Shows what is happening. */
  progress?: (line: string) => void;
  /** Ends the request; nothing is generated then. */
  signal?: AbortSignal;
  /** The file that the manifest was parsed from. */
  manifestText: string;
  /** Prompt files of the user, which are copied unchanged. */
  texts?: PromptTexts;
}

export type GeneratedProject =
  | { ok: true; files: GeneratedFile[]; notes: string[] }
  /** `isReady`: false: no provider was asked. */
  | { ok: false; reason: string; isReady?: false };

/** Characters between two lines of progress. */
const PROGRESS_STEP = 2000;

/** The files of the project before a model is asked: those that the model writes have other content later. */
export function plannedFiles(manifest: Manifest, options: FrameworkOptions): GeneratedFile[] {
  return projectOf({ ...options, manifest, written: NO_CODE, version: VERSION }).files;
}

/**
 * The files of an agent project. An LLM provider writes the system prompt and the bodies of the tools; what is missing or unusable
 * in its response becomes a default text or a stub, with a note. Fails without a provider and without a readable response.
 */
export async function generateFramework(
  manifest: Manifest,
  options: FrameworkOptions,
): Promise<GeneratedProject> {
  const { framework, provider: wanted, env, progress, texts = new Map<string, string>() } = options;
  const selected = await selectProvider(env, wanted);
  if (!selected.ok) return { ...selected, isReady: false };
  const { provider } = selected;
  const { title, language } = FRAMEWORK_PROJECTS[framework];
  progress?.(`asking ${provider.name} for the code of a ${title} project`);
  const request = frameworkCodeRequest(manifest, language, needsSystemPrompt(manifest, texts));
  const result = await provider.complete(request, {
    signal: options.signal ?? new AbortController().signal,
    onText: progressOf(progress),
  });
  if (!result.ok) return { ok: false, reason: `no code from ${provider.name}: ${result.reason}` };
  const response = responseOf(result.text, parseWrittenCode);
  if (!response.ok) return { ok: false, reason: `no code from ${provider.name}: ${response.reason}` };
  return { ok: true, ...projectOf({ ...options, manifest, written: response.value, version: VERSION }) };
}

function progressOf(progress: FrameworkOptions['progress']): (text: string) => void {
  let received = 0;
  let shown = 0;
  return (text) => {
    received += text.length;
    if (received - shown < PROGRESS_STEP) return;
    shown = received;
    progress?.(`received ${received} characters`);
  };
}
