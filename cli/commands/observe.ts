import { setTimeout as sleep } from 'node:timers/promises';
import type { AddCommand, CliContext, Stdio } from '../context.ts';
import { callLine, matrixText } from '../egress/call-text.ts';
import { parseCalls, parseHasLanes, parseMatrix, type ShownCall, type ShownRow } from '../egress/reports.ts';
import { httpUrl } from '../option-values.ts';
import { formatOption, jsonOption, ReportOption, type FormatFlags } from '../output-options.ts';
import { done, failed, json, refusal, reported, type Rendered } from '../rendered.ts';
import { failureText, requestJson } from '../sidecar-request.ts';
import { painter } from '../table.ts';

interface ObserveFlags extends FormatFlags {
  url: URL;
  once?: true;
}

export const addObserve: AddCommand = (program, context, finish) => {
  program
    .command('observe')
    .summary('show the calls of a running agent, and what it declares, reports and does')
    .description(
      'Prints each call that an agent makes through the lanes of its sidecar. Ctrl-C ends the command and prints the matrix: what the agent declares, what it reports, and what was observed.',
    )
    .option('--url <url>', "URL of the sidecar's control port", httpUrl, new URL('http://localhost:4001'))
    .option('--once', 'print only the matrix, and exit')
    .addOption(
      jsonOption('one JSON object per line: {call} for each call, then {matrix}; with --once {rows[]}'),
    )
    .addOption(formatOption())
    .addOption(new ReportOption())
    .addHelpText('after', HELP)
    .action(async (flags: ObserveFlags) => finish(await observe(flags, context)));
};

const HELP = `
Examples:
  $ platform observe
  $ platform observe --once --json
  $ kubectl port-forward pod/my-agent-0 4001 & platform observe

The sidecar observes calls through its lanes (EGRESS_LANES, or the annotation platform.io/egress-lanes). In the matrix, ?
means that no source can know it: for example, what was observed of a model without a lane.

Exit codes: 0 printed, or ended with Ctrl-C; 1 the sidecar is unreachable, or has no lane (only --once needs none).`;

const NO_LANES =
  'this sidecar has no lanes, so it cannot observe calls\nStart the agent with: platform run -- <command>. In a cluster, add the annotation platform.io/egress-lanes. --once prints the matrix.';

/** Milliseconds between two requests for new calls. */
const INTERVAL_MS = 1_000;
/** Calls that one request returns. */
const LIMIT = 1_000;

async function observe(flags: ObserveFlags, context: CliContext): Promise<Rendered> {
  try {
    if (flags.once === true) return matrixResult(await matrixAt(flags.url), flags, context);
    if (context.stdio === undefined) return failed('error: there is no standard output\n');
    if (!(await requestJson(flags.url, '/explore', parseHasLanes))) return refusal(NO_LANES, flags.json);
    return await follow(flags, context, context.stdio());
  } catch (error) {
    return refusal(failureText(error), flags.json);
  }
}

function matrixResult(rows: ShownRow[], flags: ObserveFlags, { color }: CliContext): Rendered {
  return reported(flags, { rows }, matrixText(rows, painter(color)));
}

/** Prints new calls until the user ends the command. Returns the matrix. */
async function follow(
  flags: ObserveFlags,
  context: CliContext,
  { output, stopped }: Stdio,
): Promise<Rendered> {
  const paint = painter(context.color);
  const write = (call: ShownCall): void => {
    output.write(flags.json === true ? `${JSON.stringify({ call })}\n` : callLine(call, paint));
  };
  context.progress?.('waiting for calls; Ctrl-C prints the matrix');
  let known = new Set<number>();
  // The matrix is from the end of the command, so the calls until then are printed too.
  for (
    let isLast = false;
    ;
    isLast = await sleep(INTERVAL_MS, false, { signal: stopped }).catch(() => true)
  ) {
    const calls = await requestJson(flags.url, `/egress?limit=${LIMIT}`, parseCalls);
    for (const call of calls) if (!known.has(call.id)) write(call);
    known = new Set(calls.map(({ id }) => id));
    if (isLast) break;
  }
  const rows = await matrixAt(flags.url);
  const text = flags.json ? `${JSON.stringify({ matrix: rows })}\n` : `\n${matrixText(rows, paint)}`;
  return { ...done(text), json: json({ matrix: rows }) };
}

const matrixAt = (url: URL): Promise<ShownRow[]> => requestJson(url, '/explore?view=matrix', parseMatrix);
