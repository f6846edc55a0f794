import type { Manifest } from '../../core/manifest/manifest.ts';
import { parseAnswer } from '../../core/scaffold/answer.ts';
import { FRAMEWORK_PROJECTS } from '../../core/scaffold/framework-projects.ts';
import type { Framework } from '../../core/scaffold/frameworks.ts';
import type { GeneratedFile } from '../../core/scaffold/generated-file.ts';
import { projectOf } from '../../core/scaffold/project.ts';
import { answerOf } from '../../llm/json-answer.ts';
import { frameworkCodeRequest } from '../../llm/prompts/framework-code.ts';
import type { CompletionResult, Provider } from '../../llm/provider.ts';
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
}

type Generated = { ok: true; files: GeneratedFile[]; notes: string[] } | { ok: false; reason: string };

/** Characters of an answer. A longer answer ends the request. */
const MAX_ANSWER = 300_000;
const TIMEOUT_MS = 600_000;
/** Characters between two lines of progress. */
const PROGRESS_STEP = 2000;

/**
 * The files of an agent project. An LLM provider writes the system prompt and the bodies of the tools; what is missing or unusable
 * in its answer becomes a default text or a stub, with a note. Fails without a provider and without a readable answer.
 */
export async function generateFramework(manifest: Manifest, options: FrameworkOptions): Promise<Generated> {
  const { framework, provider: wanted, env, manifestText, progress } = options;
  const selected = await selectProvider(env, wanted);
  if (!selected.ok) return { ok: false, reason: selected.reason };
  const { provider } = selected;
  const { title, language } = FRAMEWORK_PROJECTS[framework];
  progress?.(`asking ${provider.name} for the code of a ${title} project`);
  const result = await complete(provider, frameworkCodeRequest(manifest, language), options);
  if (!result.ok) return { ok: false, reason: result.reason };
  const answer = answerOf(result.text, parseAnswer);
  if (!answer.ok) return { ok: false, reason: `${answer.reason}; run the command again` };
  return {
    ok: true,
    ...projectOf({ manifest, manifestText, framework, written: answer.value, version: VERSION }),
  };
}

async function complete(
  provider: Provider,
  request: Parameters<Provider['complete']>[0],
  { progress, signal }: FrameworkOptions,
): Promise<CompletionResult> {
  const tooLarge = new AbortController();
  const signals = [tooLarge.signal, AbortSignal.timeout(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])];
  let received = 0;
  let shown = 0;
  const onText = (text: string): void => {
    received += text.length;
    if (received > MAX_ANSWER) tooLarge.abort();
    if (received - shown < PROGRESS_STEP) return;
    shown = received;
    progress?.(`received ${received} characters`);
  };
  const result = await provider.complete(request, { signal: AbortSignal.any(signals), onText });
  if (received > MAX_ANSWER || (result.ok && result.text.length > MAX_ANSWER))
    return { ok: false, reason: `the answer of ${provider.name} has more than ${MAX_ANSWER} characters` };
  return result;
}
