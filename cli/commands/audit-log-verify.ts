import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { ChainVerifier, MAX_LINE, type ChainHead, type ChainReport } from '../../core/record/chain.ts';
import { chainHeads } from '../../core/shapes/chain-head.ts';
import { parseWith } from '../../core/shapes/field.ts';
import { jsonOf } from '../../core/untrusted/fields.ts';
import { notFound, type Found } from '../admin-key.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { accessTo, getFrom } from '../control-plane-get.ts';
import { readCauseOf } from '../file-failure.ts';
import { linesOf } from '../line-file.ts';
import { secretUrl } from '../option-values.ts';
import { formatOption, jsonOption, ReportOption, type FormatFlags } from '../output-options.ts';
import { printable, refusal, reported, type Rendered } from '../rendered.ts';
import { painter, plural, table, type Paint } from '../table.ts';

interface Flags extends FormatFlags {
  heads?: string;
  url?: URL;
  agent?: string;
  namespace?: string;
  ca?: string;
  adminKeyFile?: string;
}

export const addAuditLogVerify: AddCommand = (parent, context, finish) => {
  const command = parent
    .command('verify')
    .summary('verify that the lines of an audit log were not changed')
    .description(
      'Verifies the chain of hashes in an audit log, which finds lines that were edited, removed or swapped. With heads, which the sidecars send with their heartbeats, it also finds an end that was cut off, and lines that were written again with new hashes.',
    )
    .argument('<files...>', 'the files of the log; FILE.2, FILE.1 and FILE are read in this order')
    .option('--heads <file>', 'file with heads: a JSON list of {chain, sequence, head}')
    .addOption(
      new Option('--url <url>', 'URL of a control plane, to use the heads that it keeps')
        .argParser(secretUrl)
        .conflicts('heads'),
    )
    .option('--agent <name>', 'name of the agent at the control plane; required with --url')
    .option('-n, --namespace <namespace>', 'namespace of the agent at the control plane')
    .option('--ca <file>', 'PEM file with the CA certificate of the control plane')
    .option(
      '--admin-key-file <file>',
      'file with the admin key; default: your token in PLATFORM_TOKEN, else PLATFORM_ADMIN_KEY',
    )
    .addOption(
      jsonOption(
        '{lines, otherLines, chains[]{chain, first, last, isFromStart, lost, heads}, problems[]{file, line, problem, message}, absent[]}',
      ),
    )
    .addOption(formatOption())
    .addOption(new ReportOption())
    .addHelpText('after', HELP)
    .action(async (files: string[], flags: Flags) =>
      finish(await verify(files, flags, { context, command })),
    );
};

const HELP = `
Examples:
  $ platform audit-log verify audit.log*
  $ platform audit-log verify audit.log --heads heads.json
  $ platform audit-log verify audit.log --url https://platform.example.com --agent shop -n retail
  $ kubectl logs shop-0 -c platform-sidecar > shop.log; platform audit-log verify shop.log

Problems: torn (the line is not complete), unreadable, changed, missing (lines before this line), order (repeated or swapped),
differs-from-head, truncated (lines at the end are missing). Lines of other programs are counted and skipped.
A chain shows that kept lines were not changed after a head had left the pod. It does not show that every event was written.

Exit codes: 0 no problem; 1 a problem was found, a file has no line of an audit log or cannot be read, or the heads are
not available.`;

/** Problems that the text lists. The JSON has all. */
const SHOWN = 100;

interface Problem {
  file: string;
  /** In the file, from 1. */
  line: number;
  problem: ChainReport['findings'][number]['problem'];
  message: string;
}

type Verified = Omit<ChainReport, 'findings'> & { problems: Problem[] };

async function verify(
  names: readonly string[],
  flags: Flags,
  { context, command }: { context: CliContext; command: Command },
): Promise<Rendered> {
  if ((flags.url === undefined) !== (flags.agent === undefined))
    command.error('error: --url and --agent require each other');
  const heads = await headsOf(flags, context);
  if (!heads.ok) return refusal(heads.reason, flags.json);
  const read = await readFiles(names, heads.value, context);
  if (!read.ok) return refusal(read.reason, flags.json);
  const { value: report } = read;
  const { problems } = report;
  const text = textOf(report, heads.value.length > 0, painter(context.color));
  const rendered = reported(flags, report, text, problems.length > 0 ? 1 : 0);
  if (problems.length === 0) return rendered;
  const errors = `error: the audit log was changed or is not complete: ${plural(problems.length, 'problem')}\n`;
  return { ...rendered, errors };
}

async function headsOf(flags: Flags, context: CliContext): Promise<Found<readonly ChainHead[]>> {
  const { heads: file, url, agent = '', namespace } = flags;
  if (file !== undefined) return headsIn(file, context);
  if (url === undefined) return { ok: true, value: [] };
  const access = await accessTo(url, flags, context);
  if (!access.ok) return access;
  return getFrom(access.value, `/agents/${encodeURIComponent(agent)}/audit-heads`, {
    ...(namespace !== undefined && { query: { namespace } }),
    field: chainHeads,
  });
}

async function headsIn(name: string, { cwd }: CliContext): Promise<Found<readonly ChainHead[]>> {
  let text: string;
  try {
    text = await readFile(resolve(cwd, name), 'utf8');
  } catch (error) {
    return notFound(`cannot read ${printable(name)}: ${readCauseOf(error)}`);
  }
  const value = jsonOf(text);
  if (value === undefined) return notFound(`${printable(name)} is not valid JSON`);
  const parsed = parseWith(chainHeads, value);
  if (parsed.ok) return parsed;
  const [first = { path: '', message: '' }] = parsed.errors;
  return notFound(printable(`${name} is not a list of heads: ${`${first.path} ${first.message}`.trim()}`));
}

/** `FILE.2`, `FILE.1`, `FILE`: rotation gives older files higher numbers. Files of different names keep their order. */
function oldestFirst(names: readonly string[]): string[] {
  const parts = names.map((name) => {
    const [, base = '', number = '0'] = /^(.*?)(?:\.(\d{1,6}))?$/s.exec(name) ?? [];
    return { name, base, number: Number(number) };
  });
  const bases = [...new Set(parts.map(({ base }) => base))];
  return parts
    .toSorted((a, b) => bases.indexOf(a.base) - bases.indexOf(b.base) || b.number - a.number)
    .map(({ name }) => name);
}

async function readFiles(
  names: readonly string[],
  heads: readonly ChainHead[],
  { cwd }: CliContext,
): Promise<Found<Verified>> {
  const verifier = new ChainVerifier((text) => hash('sha256', text), heads);
  const starts: { file: string; before: number }[] = [];
  let count = 0;
  for (const file of oldestFirst(names)) {
    starts.push({ file, before: count });
    try {
      for await (const { text, isComplete } of linesOf(resolve(cwd, file), MAX_LINE)) {
        verifier.add(text, isComplete);
        count += 1;
      }
    } catch (error) {
      return notFound(`cannot read ${printable(file)}: ${readCauseOf(error)}`);
    }
  }
  const { findings, ...report } = verifier.report();
  if (report.chains.length === 0)
    return notFound(`${names.map(printable).join(', ')}: no line is an event of an audit log`);
  const problems = findings.map(({ line, ...finding }): Problem => {
    const { file = '', before = 0 } = starts.findLast((start) => start.before < line) ?? {};
    return { file, line: line - before, ...finding };
  });
  return { ok: true, value: { ...report, problems } };
}

function textOf({ problems, chains, absent, otherLines }: Verified, hasHeads: boolean, paint: Paint): string {
  const events = chains.map(({ chain, first, last, lost, heads }) =>
    [printable(chain), `${first} to ${last}`, String(lost), String(heads)].map((text) => ({ text })),
  );
  const found = problems.length === 0 ? 'no problem' : plural(problems.length, 'problem');
  const shown = problems
    .slice(0, SHOWN)
    .map(({ file, line, problem, message }) =>
      paint('red', `${printable(file)}:${line} ${problem}: ${printable(message)}`),
    );
  const more = problems.length - shown.length;
  return [
    `${found} in ${plural(chains.length, 'chain')}\n\n${table(['CHAIN', 'EVENTS', 'LOST', 'HEADS'], events, paint)}`,
    ...(shown.length > 0 ? [''] : []),
    ...shown,
    ...(more > 0 ? [`and ${more} more (--json)`] : []),
    ...notesOf({ chains, absent, otherLines }, hasHeads).map((note) => `\nnote: ${printable(note)}`),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');
}

/** What the verification does not cover. */
function notesOf(
  { chains, absent, otherLines }: Pick<Verified, 'chains' | 'absent' | 'otherLines'>,
  hasHeads: boolean,
): string[] {
  const without = chains.filter(({ heads }) => heads === 0).map(({ chain }) => chain);
  const notes = chains
    .filter(({ isFromStart }) => !isFromStart)
    .map(({ chain, first }) => `${chain} has no lines before ${first}: rotated away, or in another file`);
  if (!hasHeads)
    notes.push(
      'without --heads or --url, an end that was cut off and lines that were written again with new hashes are not found',
    );
  else if (without.length > 0) notes.push(`no head is known for these lines of ${without.join(', ')}`);
  if (absent.length > 0) notes.push(`heads are known, but no line, of ${absent.join(', ')}`);
  if (otherLines > 0) notes.push(`${plural(otherLines, 'line')} of other programs skipped`);
  return notes;
}
