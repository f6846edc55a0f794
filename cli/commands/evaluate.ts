import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseDataset, selectSamples, type Sample } from '../../authoring/evaluation/dataset.ts';
import {
  evaluationReport,
  type EvaluationReport,
  type SampleResult,
} from '../../authoring/evaluation/evaluation.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { referenceOf } from '../../core/manifest/references.ts';
import { urlBelow } from '../../push/push-heartbeat.ts';
import { notFound } from '../admin-key.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { collectHeader, requestHeaders } from '../evaluate/request-headers.ts';
import { evaluationJunit, evaluationText } from '../evaluate/evaluation-output.ts';
import { BODY_FORMS, sampleSender, type BodyForm } from '../evaluate/send-sample.ts';
import { submitEvaluation } from '../evaluate/submit-evaluation.ts';
import { readCauseOf, rejectionToWrite } from '../file-failure.ts';
import { writeProblem } from '../write-problem.ts';
import { invalidManifest, load } from '../load.ts';
import { httpUrl } from '../option-values.ts';
import { ManifestArgument } from '../manifest-argument.ts';
import { formatOption, jsonOption, ReportOption, type FormatFlags } from '../output-options.ts';
import { printable, refusal, reported, type Rendered } from '../rendered.ts';
import { shownUrl } from '../sidecar-request.ts';
import { decodeText } from '../source-files.ts';

interface EvaluateFlags extends FormatFlags<'text' | 'json' | 'junit'> {
  url: URL;
  dataset: string;
  sampleSize?: number;
  tag?: string;
  timeout: number;
  concurrency: number;
  body: 'auto' | BodyForm;
  /** `Name: value` texts as typed. */
  header?: string[];
  /** Path of a JUnit file, as typed. */
  junit?: string;
  /** Path of the report, as typed. */
  output?: string;
  submit?: true;
  controlUrl: URL;
}

export const addEvaluate: AddCommand = (program, context, finish) => {
  program
    .command('evaluate')
    .summary('send a dataset to a running agent and compare the responses')
    .description(
      'Sends each sample of a dataset as the user message to the chat endpoint of an agent. A sample passes if the response contains the expected text, in upper or lower case.',
    )
    .addArgument(new ManifestArgument())
    .requiredOption('--url <url>', 'base URL of the agent or of its sidecar', httpUrl)
    .requiredOption('--dataset <name>', 'name of a dataset in spec.evaluation.datasets')
    .option('--sample-size <n>', 'send only this many samples, spread evenly over the dataset', integer(1))
    .option('--tag <tag>', 'send only samples with this tag')
    .option('--timeout <ms>', 'milliseconds for each response', integer(1), 10_000)
    .option('--concurrency <n>', 'samples in flight at the same time', integer(1, 100), 4)
    .option(
      '--header <header>',
      'header of every request, as "Name: value"; $env:VAR in it is read from the environment; repeatable',
      collectHeader,
    )
    .addOption(
      new Option(
        '--body <form>',
        'request body; auto: from chatEndpoint.protocol, else what the agent accepts',
      )
        .choices(['auto', ...BODY_FORMS])
        .default('auto'),
    )
    .addOption(
      jsonOption(
        '{dataset, agentUrl, totalSamples, metrics, threshold, ciGateResult, latencyMs, tokens, samples[]}, and interrupted if the run was interrupted',
      ),
    )
    .addOption(formatOption(['text', 'json', 'junit']))
    .addOption(new ReportOption())
    .addOption(
      new Option('--junit <file>', 'also write a JUnit file with one test case per sample').hideHelp(),
    )
    .option('--submit', 'post the result as proof of EVAL-01; only for the whole dataset')
    .option(
      '--control-url <url>',
      "with --submit: URL of the sidecar's control port",
      httpUrl,
      new URL('http://localhost:4001'),
    )
    .addHelpText('after', HELP)
    .action(async (file: string, flags: EvaluateFlags, command: Command) => {
      if (flags.submit === true && (flags.tag !== undefined || flags.sampleSize !== undefined))
        command.error(
          'error: --submit cannot be used with --tag or --sample-size, because a proof is for the whole dataset',
        );
      finish(await evaluate(file, flags, context));
    });
};

const HELP = `
Examples:
  $ platform evaluate --url localhost:4000 --dataset smoke
  $ platform evaluate agent.yaml --url http://localhost:4000 --dataset smoke --tag refunds --json
  $ platform evaluate agent.yaml --url http://localhost:4000 --dataset smoke --format junit --output evaluation.xml --submit
  $ platform evaluate agent.yaml --url https://agent.example.com --dataset smoke --header 'Authorization: Bearer $env:TOKEN'

A dataset has one JSON object per line: {"input": "...", "expected": "...", "tags": ["..."]}. Failed requests are not
repeated. Ctrl-C ends the run and prints the samples that have a result. --submit sends the proof to the control plane if
PLATFORM_CONTROL_PLANE_URL and PLATFORM_ADMIN_KEY are set, else to --control-url; it is valid for 30 days.

Exit codes: 0 complete; 1 pass_rate is below its threshold and ciGate is true, the run was interrupted, no sample got a
response, or the manifest, the dataset or an option is not valid.`;

function integer(min: number, max = Number.MAX_SAFE_INTEGER): (value: string) => number {
  return (value) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max))
      throw new InvalidArgumentError(
        `Must be a whole number from ${min}${max < Number.MAX_SAFE_INTEGER ? ` to ${max}` : ''}.`,
      );
    return number;
  };
}

async function evaluate(file: string, flags: EvaluateFlags, context: CliContext): Promise<Rendered> {
  const given = requestHeaders(flags.header ?? [], context.env);
  if (!given.ok) return refusal(given.reason, flags.json);
  const loaded = await load(file, context);
  if (!loaded.ok) return invalidManifest(loaded, flags.json);
  const { manifest } = loaded;
  const read = await readDataset(manifest, { file, name: flags.dataset, cwd: context.cwd });
  if (!read.ok) return refusal(read.reason, flags.json);
  const selected = selectSamples(read.samples, { tag: flags.tag ?? null, size: flags.sampleSize ?? null });
  if (selected.length === 0)
    return refusal(`no sample has the tag "${printable(flags.tag ?? '')}"`, flags.json);
  const inputs = [file, read.path].map((input) => resolve(context.cwd, input));
  for (const target of [flags.junit, flags.output]) {
    const blocked = target && (await rejectionToWrite(resolve(context.cwd, target), inputs));
    if (blocked) return refusal(`cannot write ${printable(target)}: ${blocked}`, flags.json);
  }
  const samples = await runSamples(selected, manifest, { ...flags, headers: given.value }, context);
  const isInterrupted = samples.length < selected.length;
  const agentUrl = shownUrl(flags.url);
  const report = evaluationReport(manifest, { dataset: flags.dataset, agentUrl, samples, isInterrupted });
  const notes = [
    ...failuresOf(report, selected.length),
    ...(await sideEffects(report, manifest, flags, context)),
  ];
  const isFailed = report.ciGateResult === 'FAIL' || notes.some((note) => note.startsWith('error: '));
  const isJunit = flags.format === 'junit';
  const text = isJunit ? evaluationJunit(report) : evaluationText(report, context);
  const errors = notes.map((note) => `${note}\n`).join('');
  return { ...reported(flags, report, text, isFailed ? 1 : 0), errors };
}

/** `path`: as typed for the manifest, from the working directory. */
type ReadDataset = { ok: true; samples: Sample[]; path: string } | { ok: false; reason: string };

/** The path of a dataset is relative to the manifest; `$file:` may be in front of it. */
async function readDataset(
  { spec: { evaluation } }: Manifest,
  { file, name, cwd }: { file: string; name: string; cwd: string },
): Promise<ReadDataset> {
  const datasets = evaluation?.datasets ?? [];
  const declared = datasets.find((dataset) => dataset.name === name);
  if (declared === undefined) {
    const names = datasets.map((dataset) => printable(dataset.name)).join(', ') || 'none';
    return notFound(`${printable(file)} declares no dataset "${printable(name)}"; declared: ${names}`);
  }
  const named =
    referenceOf(declared.path)?.kind === 'file' ? declared.path.slice('$file:'.length) : declared.path;
  const path = isAbsolute(named) ? named : join(dirname(file), named);
  const shown = printable(path);
  try {
    const parsed = parseDataset(decodeText(await readFile(resolve(cwd, path))));
    if (parsed.ok) return { ...parsed, path };
    const lines = parsed.problems.map(
      ({ line, column, message }) => `${shown}:${line}:${column}: ${printable(message)}`,
    );
    return notFound(lines.join('\nerror: '));
  } catch (error) {
    return notFound(`cannot read dataset ${shown}: ${readCauseOf(error)}`);
  }
}

/** Results in the order in which they arrive; fewer than samples if the run was interrupted. */
async function runSamples(
  samples: readonly Sample[],
  { spec }: Manifest,
  flags: EvaluateFlags & { headers: Record<string, string> },
  { onInterrupt, progress }: CliContext,
): Promise<SampleResult[]> {
  const interrupt = onInterrupt?.();
  const { path = '/v1/chat', protocol } = spec.api?.chatEndpoint ?? {};
  const declared: BodyForm[] = protocol === 'openai-compatible' ? ['openai'] : ['plain'];
  const detected: BodyForm[] = protocol === undefined ? ['openai', 'plain'] : declared;
  const send = sampleSender({
    url: urlBelow(flags.url, path),
    model: spec.model.id,
    forms: flags.body === 'auto' ? detected : [flags.body],
    headers: flags.headers,
    timeoutMs: flags.timeout,
    signal: interrupt,
  });
  const results: SampleResult[] = [];
  const queue = [...samples];
  const work = async () => {
    for (let sample = queue.shift(); sample !== undefined; sample = queue.shift()) {
      if (interrupt?.aborted === true) return;
      const result = await send(sample);
      if (result !== null) results.push(result);
      progress?.(
        `${results.length}/${samples.length}, ${results.filter(({ passed }) => passed).length} passed`,
      );
    }
  };
  // The first sample finds the form of the body.
  const first = queue.splice(1);
  await work();
  queue.push(...first);
  await Promise.all(Array.from({ length: flags.concurrency }, work));
  return results;
}

function failuresOf(
  { samples, ciGateResult, metrics, threshold }: EvaluationReport,
  selected: number,
): string[] {
  const notes: string[] = [];
  if (samples.length < selected)
    notes.push(`error: interrupted: ${samples.length} of ${selected} samples have a result`);
  const [first] = samples;
  if (first !== undefined && samples.every(({ error }) => error !== undefined))
    notes.push(`error: no sample got a response to compare; the first: ${printable(first.error ?? '')}`);
  if (ciGateResult === 'FAIL')
    notes.push(`error: pass_rate ${metrics.pass_rate.toFixed(3)} is below the threshold ${threshold}`);
  return notes;
}

/** Writes the JUnit file and submits the proof. Returns a line for each. */
async function sideEffects(
  report: EvaluationReport,
  { metadata }: Manifest,
  flags: EvaluateFlags,
  context: CliContext,
): Promise<string[]> {
  const notes: string[] = [];
  const { junit } = flags;
  if (junit !== undefined) {
    const problem = await writeProblem(resolve(context.cwd, junit), junit, evaluationJunit(report));
    notes.push(problem === null ? `wrote ${printable(junit)}` : `error: ${problem}`);
  }
  if (flags.submit !== true) return notes;
  if (report.interrupted === true || report.ciGateResult === 'FAIL')
    return [...notes, 'the proof of EVAL-01 was not submitted'];
  const submitted = await submitEvaluation(metadata.name, report, {
    env: context.env,
    controlUrl: flags.controlUrl,
    now: context.now(),
  });
  notes.push(
    submitted.ok
      ? `submitted the proof of EVAL-01 to ${submitted.receiver}`
      : `error: ${printable(submitted.reason)}`,
  );
  return notes;
}
