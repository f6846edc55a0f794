import { resolve } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { MAX_LINE } from '../../core/record/chain.ts';
import { columnsOf, parseLine, type EventColumns } from '../../core/record/columns.ts';
import { sentEvent, type AuditEvent } from '../../core/shapes/audit-event.ts';
import { ISO_TIME } from '../../core/shapes/field.ts';
import { list } from '../../core/shapes/object.ts';
import { EVENT_KINDS, OUTCOMES } from '../../core/shapes/values.ts';
import { jsonOf } from '../../core/untrusted/fields.ts';
import { present } from '../../core/untrusted/present.ts';
import { notFound, type Found } from '../admin-key.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { accessTo, getFrom } from '../control-plane-get.ts';
import { readCauseOf } from '../file-failure.ts';
import { linesOf } from '../line-file.ts';
import { duration, secretUrl } from '../option-values.ts';
import { formatOption, jsonOption, ReportOption, type FormatFlags } from '../output-options.ts';
import { printable, refusal, reported, type Rendered } from '../rendered.ts';
import { painter, plural, table, type Cell, type Paint } from '../table.ts';

/** The events to find. A member that is absent selects all. */
interface Filters {
  agent?: string;
  namespace?: string;
  user?: string;
  tool?: string;
  outcome?: string;
  kind?: string;
  since?: Date;
  until?: Date;
}

interface Flags extends FormatFlags, Omit<Filters, 'since' | 'until'> {
  since?: (now: Date) => Date;
  until?: (now: Date) => Date;
  limit: number;
  url?: URL;
  ca?: string;
  adminKeyFile?: string;
}

/** As many as a page of the control plane has. */
const MAX_LIMIT = 1_000;

export const addAuditLogQuery: AddCommand = (parent, context, finish) => {
  const command = parent
    .command('query')
    .summary('find events in audit logs, or in a control plane')
    .description(
      'Lists the events of audit logs, newest first: of files, or with --url those that a control plane keeps. The filters apply together. With --url the query is recorded as an event.',
    )
    .argument('[files...]', 'files of an audit log')
    .addOption(new Option('--url <url>', 'URL of a control plane').argParser(secretUrl))
    .option('--agent <name>', 'only events of the agents with this name')
    .option('-n, --namespace <namespace>', 'only events of this namespace')
    .option('--user <id>', 'only events of this person (actor.user.uid)')
    .option('--tool <name>', 'only events with this tool')
    .addOption(
      new Option('--outcome <outcome>', 'only events with this result of the policy').choices(OUTCOMES),
    )
    .addOption(new Option('--kind <kind>', 'only events of this kind').choices(EVENT_KINDS))
    .addOption(new Option('--since <time>', 'only events from 30d ago, or from a time on').argParser(moment))
    .addOption(new Option('--until <time>', 'only events before 1h ago, or before a time').argParser(moment))
    .addOption(
      new Option('--limit <count>', `maximum number of events, 1 to ${MAX_LIMIT}`)
        .default(100)
        .argParser(countOf),
    )
    .option('--ca <file>', 'PEM file with the CA certificate of the control plane')
    .option(
      '--admin-key-file <file>',
      'file with the admin key; default: your token in PLATFORM_TOKEN, else PLATFORM_ADMIN_KEY',
    )
    .addOption(jsonOption('{events[], isLimited, otherLines}; events as OCSF objects'))
    .addOption(formatOption())
    .addOption(new ReportOption())
    .addHelpText('after', HELP)
    .action(async (files: string[], flags: Flags) => finish(await query(files, flags, { context, command })));
};

const HELP = `
Examples:
  $ platform audit-log query audit.log* --outcome deny --since 24h
  $ platform audit-log query audit.log --tool delete_orders --json | jq '.events[].actor.user.uid'
  $ platform audit-log query --url https://platform.example.com --agent shop --since 30d
  $ kubectl logs shop-0 -c platform-sidecar > shop.log; platform audit-log query shop.log --user 'auth0|5f7c'

A time is ISO 8601 with a time zone, such as 2026-03-01T10:00:00Z. Lines of other programs are counted and skipped.

Exit codes: 0 printed, also without an event; 1 a file or the control plane cannot be read.`;

/** `30d` ago, or an ISO 8601 time. */
function moment(value: string): (now: Date) => Date {
  const time = ISO_TIME.test(value) ? Date.parse(value) : Number.NaN;
  if (!Number.isNaN(time)) return () => new Date(time);
  try {
    const ms = duration('smhd')(value);
    return (now) => new Date(now.getTime() - ms);
  } catch {
    throw new InvalidArgumentError('Must be 30s, 5m, 2h or 7d, or a time such as 2026-03-01T10:00:00Z.');
  }
}

function countOf(value: string): number {
  const count = /^\d{1,4}$/.test(value) ? Number(value) : 0;
  if (count < 1 || count > MAX_LIMIT)
    throw new InvalidArgumentError(`Must be an integer from 1 to ${MAX_LIMIT}.`);
  return count;
}

interface Result {
  /** The newest first. */
  events: AuditEvent[];
  /** There may be more events. */
  isLimited: boolean;
  /** Lines of files that are not events. */
  otherLines: number;
}

async function query(
  files: readonly string[],
  flags: Flags,
  { context, command }: { context: CliContext; command: Command },
): Promise<Rendered> {
  if ((flags.url === undefined) === (files.length === 0))
    command.error('error: pass files of an audit log, or --url');
  const { agent, namespace, user, tool, outcome, kind, since, until } = flags;
  const now = context.now();
  const filters = present({
    ...{ agent, namespace, user, tool, outcome, kind },
    ...{ since: since?.(now), until: until?.(now) },
  });
  const found =
    flags.url === undefined
      ? await inFiles(files, filters, { limit: flags.limit, cwd: context.cwd })
      : await inControlPlane(flags.url, filters, { flags, context });
  if (!found.ok) return refusal(found.reason, flags.json);
  return reported(flags, found.value, textOf(found.value, painter(context.color)));
}

async function inControlPlane(
  url: URL,
  { since, until, ...filters }: Filters,
  { flags, context }: { flags: Flags; context: CliContext },
): Promise<Found<Result>> {
  const access = await accessTo(url, flags, context);
  if (!access.ok) return access;
  const times = { since: since?.toISOString(), until: until?.toISOString() };
  const found = await getFrom(access.value, '/audit-events', {
    query: { ...filters, ...present(times), limit: String(flags.limit) },
    field: list('The events.', sentEvent, { max: MAX_LIMIT }),
  });
  if (!found.ok) return found;
  const { value: events } = found;
  return { ok: true, value: { events, isLimited: events.length === flags.limit, otherLines: 0 } };
}

/** An event of a file; `index`: its place in the files, which is the order of events of the same time. */
interface Match {
  event: AuditEvent;
  at: number;
  index: number;
}

const newestFirst = (a: Match, b: Match): number => b.at - a.at || b.index - a.index;

async function inFiles(
  files: readonly string[],
  filters: Filters,
  { limit, cwd }: { limit: number; cwd: string },
): Promise<Found<Result>> {
  let matches: Match[] = [];
  let [count, otherLines] = [0, 0];
  for (const file of files) {
    try {
      for await (const { text } of linesOf(resolve(cwd, file), MAX_LINE)) {
        const parsed = parseLine(text);
        if (!parsed.ok) {
          otherLines += 1;
          continue;
        }
        const columns = columnsOf(parsed.event);
        if (!isWanted(columns, filters)) continue;
        count += 1;
        // With the members that the product does not read.
        matches.push({ event: jsonOf(text) as AuditEvent, at: columns.at, index: count });
        if (matches.length > 2 * MAX_LIMIT) matches = matches.sort(newestFirst).slice(0, limit);
      }
    } catch (error) {
      return notFound(`cannot read ${printable(file)}: ${readCauseOf(error)}`);
    }
  }
  const events = matches
    .sort(newestFirst)
    .slice(0, limit)
    .map(({ event }) => event);
  return { ok: true, value: { events, isLimited: count > limit, otherLines } };
}

const NAMES = ['agent', 'namespace', 'user', 'outcome', 'kind'] as const;

/** As the control plane selects events. */
function isWanted(columns: EventColumns, { tool, since, until, ...filters }: Filters): boolean {
  return (
    NAMES.every((name) => filters[name] === undefined || columns[name] === filters[name]) &&
    (tool === undefined || columns.tools.includes(tool)) &&
    (since === undefined || columns.at >= since.getTime()) &&
    (until === undefined || columns.at < until.getTime())
  );
}

const HEAD = ['TIME', 'AGENT', 'KIND', 'OUTCOME', 'USER', 'TOOLS', 'REASON'];
const STYLES: Readonly<Record<string, NonNullable<Cell['style']>>> = { deny: 'red', failOpen: 'yellow' };

function textOf({ events, isLimited, otherLines }: Result, paint: Paint): string {
  const rows = events.map((event) => {
    const { at, namespace, agent, kind, outcome, user, tools } = columnsOf(event);
    const style = STYLES[outcome ?? ''];
    return [
      ...[new Date(at).toISOString(), `${namespace}/${agent}`, kind].map((text) => ({
        text: printable(text),
      })),
      { text: outcome ?? '', ...(style && { style }) },
      ...[user ?? '', tools.join(', '), event.status_detail ?? ''].map((text) => ({ text: printable(text) })),
    ];
  });
  const notes = [
    ...(isLimited
      ? [`${plural(events.length, 'event')}, the newest; older ones need --until or --limit`]
      : []),
    ...(otherLines > 0 ? [`${plural(otherLines, 'line')} of other programs skipped`] : []),
  ];
  const shown = events.length === 0 ? 'no event\n' : table(HEAD, rows, paint);
  return [shown, ...notes.map((note) => `note: ${note}\n`)].join('\n');
}
