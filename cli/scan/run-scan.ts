import { resolve } from 'node:path';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { Code } from '../../authoring/scan/code.ts';
import { collect } from '../../authoring/scan/collect.ts';
import { draftOf, type Draft } from '../../authoring/scan/draft.ts';
import { manifestText } from '../../authoring/scan/manifest-text.ts';
import { promptFiles } from '../../authoring/scan/prompts.ts';
import { redacted } from '../../authoring/scan/secrets.ts';
import { summaryOf } from '../../authoring/scan/summary.ts';
import type { Provider } from '../../llm/provider.ts';
import { selectProvider } from '../../llm/select-provider.ts';
import { replaceFile } from '../../push/replace-file.ts';
import type { CliContext } from '../context.ts';
import { causeOf, fileFailure } from '../file-failure.ts';
import { failed, printable, printableLines, type Rendered } from '../rendered.ts';
import { painter, plural, table } from '../table.ts';
import { completeDraft } from './complete-draft.ts';
import { manifestTarget, type ManifestTarget } from './manifest-target.ts';
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

type Outcome<T> = { ok: true; value: T } | { ok: false; reason: string };

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
  return await written(target.target, { text, report, errors });
}

const refused = (reason: string): Rendered => failed(`error: ${printableLines(reason)}\n`);

async function written(
  { path, shown, note }: ManifestTarget,
  { text, report, errors }: { text: string; report: string; errors: string },
): Promise<Rendered> {
  try {
    await replaceFile(path, text, 0o666);
    return { output: `${report}wrote ${printable(shown + note)}\n`, errors, exitCode: 0 };
  } catch (error) {
    return refused(`cannot write ${shown}: ${causeOf(error)}`);
  }
}

const WITHOUT_LLM = '--no-llm writes only what was found in the code';

/** The provider; null: the scan makes no request. */
async function providerFor(
  { llm, provider }: ScanFlags,
  { env }: CliContext,
): Promise<Outcome<Provider | null>> {
  if (!llm)
    return provider === undefined
      ? { ok: true, value: null }
      : { ok: false, reason: '--provider and --no-llm exclude each other' };
  const selection = await selectProvider(env, provider);
  if (selection.ok) return { ok: true, value: selection.provider };
  return {
    ok: false,
    reason: `${selection.reason}\n"platform provider-status" shows the providers; ${WITHOUT_LLM}`,
  };
}

async function directoryAt(dir: string, { cwd }: CliContext): Promise<Outcome<Directory>> {
  const shown = printable(dir);
  try {
    const directory = await readDirectory(resolve(cwd, dir));
    if (directory.files.length > 0) return { ok: true, value: directory };
    const skipped = skippedText(directory).trimEnd();
    const reason = `${shown} contains no .py, .ts, .js, .mjs or .cjs file that can be read`;
    return { ok: false, reason: skipped === '' ? reason : `${reason}\n${skipped}` };
  } catch (error) {
    const cause = fileFailure(error, { ENOENT: 'does not exist', ENOTDIR: 'is not a directory' });
    return { ok: false, reason: `cannot read ${shown}: ${cause}` };
  }
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
): Promise<Outcome<ScanResult>> {
  const code = new Code(files);
  const draft = draftOf(collect(code), code, promptFiles(code, others));
  const notes = code.sources
    .flatMap((source) => redacted(source).places)
    .map(({ file, line }) => `warning: ${file}:${line} contains what looks like a secret; it was not copied`);
  if (provider === null) return { ok: true, value: { draft, notes } };
  const completed = await completeDraft({ draft, code }, provider, context);
  if (!completed.ok)
    return {
      ok: false,
      reason: `${provider.name}: ${completed.reason}; nothing was written. ${WITHOUT_LLM}`,
    };
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
