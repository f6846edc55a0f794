import { resolve } from 'node:path';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { Code } from '../../authoring/scan/code.ts';
import { collect } from '../../authoring/scan/collect.ts';
import { parseCompletion, withCompletion, type Completed } from '../../authoring/scan/completion.ts';
import { draftOf, type Draft } from '../../authoring/scan/draft.ts';
import { manifestText } from '../../authoring/scan/manifest-text.ts';
import { promptFiles } from '../../authoring/scan/prompts.ts';
import { redacted } from '../../authoring/scan/secrets.ts';
import { summaryOf } from '../../authoring/scan/summary.ts';
import { responseOf } from '../../llm/json-response.ts';
import { scanRequest } from '../../llm/prompts/scan.ts';
import type { Provider } from '../../llm/provider.ts';
import { selectProvider } from '../../llm/select-provider.ts';
import { notFound, type Found } from '../admin-key.ts';
import type { CliContext } from '../context.ts';
import { fileFailure } from '../file-failure.ts';
import { writeProblem } from '../write-problem.ts';
import { failed, printable, printableLines, type Rendered } from '../rendered.ts';
import { painter, plural, table } from '../table.ts';
import { manifestTarget } from './manifest-target.ts';
import { readDirectory, type Directory } from './read-directory.ts';

export interface ScanFlags {
  /** As typed. */
  dir: string;
  output?: string;
  update?: true;
  dryRun?: true;
  provider?: string;
  /** False with --no-llm. */
  llm: boolean;
}

/** Writes a manifest from the code of a directory. After a failure nothing is written. */
export async function runScan(flags: ScanFlags, context: CliContext): Promise<Rendered> {
  const read = await directoryAt(flags.dir, context);
  if (!read.ok) return refused(read.reason);
  const target = await manifestTarget(flags, context.cwd);
  if (!target.ok) return refused(target.reason);
  // After the paths: a wrong path is an error also when no provider is ready.
  const provider = await providerFor(flags, context);
  if (!provider.ok) return refused(provider.reason);
  const found = await draftFrom(read.value, provider.value, context);
  if (!found.ok) return refused(found.reason);
  const { draft, notes } = found.value;
  const text = manifestText(draft, target.target.options);
  const parsed = parseManifest(text);
  if (!parsed.ok) {
    const [problem] = parsed.problems;
    return refused(`the manifest would not be valid: ${problem?.path ?? ''} ${problem?.message ?? ''}`);
  }
  const report = reportText(draft, read.value, context);
  const errors = notes.map((note) => `${printable(note)}\n`).join('');
  if (flags.dryRun) return { output: text, errors: report + errors, exitCode: 0 };
  const { path, shown, note } = target.target;
  const problem = await writeProblem(path, shown, text);
  if (problem !== null) return refused(problem);
  return { output: `${report}wrote ${printable(shown + note)}\n`, errors, exitCode: 0 };
}

const refused = (reason: string): Rendered => failed(`error: ${printableLines(reason)}\n`);

const WITHOUT_LLM = '--no-llm writes only what was found in the code';

/** The provider; null: the scan makes no request. */
async function providerFor(
  { llm, provider }: ScanFlags,
  { env }: CliContext,
): Promise<Found<Provider | null>> {
  if (!llm && provider !== undefined) return notFound('--provider and --no-llm exclude each other');
  if (!llm) return { ok: true, value: null };
  const selection = await selectProvider(env, provider);
  if (selection.ok) return { ok: true, value: selection.provider };
  return notFound(`${selection.reason}\n"platform provider-status" shows the providers; ${WITHOUT_LLM}`);
}

async function directoryAt(dir: string, { cwd }: CliContext): Promise<Found<Directory>> {
  const shown = printable(dir);
  try {
    const directory = await readDirectory(resolve(cwd, dir));
    if (directory.files.length > 0) return { ok: true, value: directory };
    const skipped = skippedText(directory).trimEnd();
    const reason = `${shown} contains no .py, .ts, .js, .mjs or .cjs file that can be read`;
    return notFound(skipped === '' ? reason : `${reason}\n${skipped}`);
  } catch (error) {
    const cause = fileFailure(error, { ENOENT: 'does not exist', ENOTDIR: 'is not a directory' });
    return notFound(`cannot read ${shown}: ${cause}`);
  }
}

/** Lets a model complete a draft. The model gets the code without tests, and without the literals that look like secrets. */
async function completeDraft(
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

interface ScanResult {
  draft: Draft;
  /** For standard error. */
  notes: string[];
}

async function draftFrom(
  { files, others }: Directory,
  provider: Provider | null,
  context: CliContext,
): Promise<Found<ScanResult>> {
  const code = new Code(files);
  const draft = draftOf(collect(code), code, promptFiles(code, others));
  const notes = code.sources
    .flatMap((source) => redacted(source).places)
    .map(({ file, line }) => `warning: ${file}:${line} contains what looks like a secret; it was not copied`);
  if (provider === null) return { ok: true, value: { draft, notes } };
  const completed = await completeDraft({ draft, code }, provider, context);
  if (!completed.ok)
    return notFound(`${provider.name}: ${completed.reason}; nothing was written. ${WITHOUT_LLM}`);
  if (completed.rejected > 0)
    notes.push(
      `warning: ${plural(completed.rejected, 'proposal')} of the model left out, because the code does not contain the name`,
    );
  return { ok: true, value: { draft: completed.draft, notes } };
}

/** What was found, and what was not read. */
function reportText(draft: Draft, directory: Directory, { color }: CliContext): string {
  const rows = summaryOf(draft).map(({ kind, name, places }) =>
    [kind, name, places].map((text) => ({ text: printable(text) })),
  );
  const files = plural(directory.files.length, 'file');
  const head = rows.length === 0 ? `nothing was recognised in ${files}\n` : `found in ${files}:\n`;
  const list = rows.length === 0 ? '' : table(['KIND', 'NAME', 'PLACE'], rows, painter(color));
  return head + list + skippedText(directory);
}

const MAX_SKIPPED = 20;

function skippedText({ skipped }: Directory): string {
  if (skipped.length === 0) return '';
  const lines = skipped.slice(0, MAX_SKIPPED).map(({ path, reason }) => `  ${printable(path)}: ${reason}\n`);
  const rest = skipped.length - MAX_SKIPPED;
  return `not read:\n${lines.join('')}${rest > 0 ? `  and ${rest} more\n` : ''}`;
}
