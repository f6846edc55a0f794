import { dirname, resolve } from 'node:path';
import { Option } from 'commander';
import type { CheckSeverity } from '../../core/shapes/values.ts';
import { check } from '../../core/health/check.ts';
import type { HealthReport, Check } from '../../core/shapes/health.ts';
import { gather } from '../../probe/gather.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { invalidManifest, load } from '../load.ts';
import { ManifestArgument } from '../manifest-argument.ts';
import { formatOption, jsonOption, ReportOption, type FormatFlags } from '../output-options.ts';
import { printable, reported, type Rendered } from '../rendered.ts';
import { painter, plural, table, type Cell, type Paint } from '../table.ts';

/** Most severe first. */
const SEVERITIES: readonly CheckSeverity[] = ['error', 'warning', 'info'];

interface HealthFlags extends FormatFlags {
  failOn: CheckSeverity;
  model: boolean;
  mcp: boolean;
  memory: boolean;
}

export const addHealth: AddCommand = (program, context, finish) => {
  program
    .command('health')
    .summary('check the requirements of a manifest from this machine')
    .description(
      'Checks from this machine the requirements of a manifest: variables, files, secrets, the model, services, MCP servers, memory.',
    )
    .addArgument(new ManifestArgument())
    .addOption(jsonOption('{agentName, timestamp, status, summary, checks[]}'))
    .addOption(formatOption(['text', 'json'], ['table']))
    .addOption(new ReportOption())
    .addOption(
      new Option('--fail-on <severity>', 'exit with 1 if a failed check has at least this severity')
        .choices(SEVERITIES)
        .default('error'),
    )
    .option('--no-model', 'do not query the model provider')
    .option('--no-mcp', 'do not connect to MCP servers')
    .option('--no-memory', 'do not connect to memory stores')
    .addHelpText('after', HELP)
    .action(async (file: string, flags: HealthFlags) => finish(await health(file, flags, context)));
};

const HELP = `
Examples:
  $ platform health agent.yaml
  $ platform health agent.yaml --json --no-model
  $ platform health agent.yaml --fail-on warning

Redis is checked with PING, PostgreSQL with a startup packet, other services with a TCP connection. No password is sent.
PLATFORM_SECRET_DIR is the directory with the $secret: values. Without it they are read from PLATFORM_SECRET_<NAME>.
<PROVIDER>_BASE_URL, such as OPENAI_BASE_URL, changes the address of the model check.

Exit codes: 0 no failed check of that severity or above (default: error); 1 at least one such check, or the manifest is not
valid.`;

/** Checks from this machine what the manifest declares: environment, files, network. */
async function health(file: string, flags: HealthFlags, context: CliContext): Promise<Rendered> {
  const loaded = await load(file, context);
  if (!loaded.ok) return invalidManifest(loaded, flags.json);
  const { manifest } = loaded;
  const secretDir = context.env['PLATFORM_SECRET_DIR'] ?? '';
  const facts = await gather({
    manifest,
    upstreamUrl: null,
    environment: {
      kind: 'own',
      variables: context.env,
      folder: dirname(resolve(context.cwd, file)),
      secretDir: secretDir === '' ? null : secretDir,
    },
    now: context.now,
    checksModel: flags.model,
    pingsServices: true,
    skippedCategories: [
      ...(flags.mcp ? [] : (['mcp'] as const)),
      ...(flags.memory ? [] : (['memory'] as const)),
    ],
  });
  const report = check(manifest, facts);
  const text = healthTable(report, painter(context.color));
  return reported(flags, report, text, isFailed(report, flags.failOn) ? 1 : 0);
}

/** Whether a failed check is at least as severe as `failOn`. */
function isFailed({ checks }: HealthReport, failOn: CheckSeverity): boolean {
  const counted = SEVERITIES.slice(0, SEVERITIES.indexOf(failOn) + 1);
  return checks.some(({ status, severity }) => status === 'fail' && counted.includes(severity));
}

const STATUS_STYLE = { pass: 'green', fail: 'red', skip: 'dim' } as const;
const REPORT_STYLE = { healthy: 'green', degraded: 'yellow', unhealthy: 'red' } as const;

function healthTable(report: HealthReport, paint: Paint): string {
  const { passed, failed: errors, warnings, skipped } = report.summary;
  const counts = `${passed} passed, ${errors} failed, ${plural(warnings, 'warning')}, ${skipped} skipped`;
  const head = `${printable(report.agentName)} is ${paint(REPORT_STYLE[report.status], report.status)}: ${counts}\n`;
  if (report.checks.length === 0) return head;
  const remedies = report.checks.flatMap(({ id, status, remediation }) =>
    status === 'fail' && remediation !== undefined ? [`  ${printable(id)}: ${printable(remediation)}\n`] : [],
  );
  return [
    head,
    '\n',
    table(['STATUS', 'CHECK', 'SEVERITY', 'LATENCY', 'MESSAGE'], report.checks.map(rowOf), paint),
    ...(remedies.length === 0 ? [] : ['\nRemediation:\n']),
    ...remedies,
  ].join('');
}

function rowOf({ status, id, severity, latencyMs, message }: Check): Cell[] {
  return [
    { text: status, style: STATUS_STYLE[status] },
    { text: printable(id) },
    { text: severity },
    { text: latencyMs === undefined ? '' : `${Math.round(latencyMs)} ms` },
    { text: printable(message ?? '') },
  ];
}
