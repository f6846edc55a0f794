import type { Code } from '../../authoring/scan/code.ts';
import { parseCompletion, withCompletion, type Completed } from '../../authoring/scan/completion.ts';
import type { Draft } from '../../authoring/scan/draft.ts';
import { redacted } from '../../authoring/scan/secrets.ts';
import { summaryOf } from '../../authoring/scan/summary.ts';
import { responseOf } from '../../llm/json-response.ts';
import { scanRequest } from '../../llm/prompts/scan.ts';
import type { Provider } from '../../llm/provider.ts';
import type { CliContext } from '../context.ts';
import { plural } from '../table.ts';

/** Lets a model complete a draft. The model gets the code without tests, and without the literals that look like secrets. */
export async function completeDraft(
  { draft, code }: { draft: Draft; code: Code },
  provider: Provider,
  { onInterrupt, progress }: CliContext,
): Promise<({ ok: true } & Completed) | { ok: false; reason: string }> {
  const files = code.sources.map((source) => ({ path: source.path, text: redacted(source).text }));
  const found = summaryOf(draft).map(({ kind, name, places }) => `${kind} ${name}: ${places}`);
  progress?.(`waiting for ${provider.name} (${plural(files.length, 'file')})`);
  const signal = onInterrupt?.() ?? new AbortController().signal;
  const result = await provider.complete(scanRequest(files, found), { signal });
  if (!result.ok) return result;
  const response = responseOf(result.text, parseCompletion);
  return response.ok ? { ok: true, ...withCompletion(draft, response.value, code) } : response;
}
