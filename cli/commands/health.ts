import { dirname, resolve } from 'node:path';
import type { Check, CheckSeverity } from '../../core/facts/check.ts';
import { check } from '../../core/health/check.ts';
import type { HealthReport } from '../../core/health/health.ts';
import { gather } from '../../probe/gather.ts';
import type { LoadedManifest } from '../../runtime/manifest-file.ts';
import type { CliContext } from '../context.ts';
import { done, failed, json, printable, type Rendered } from '../rendered.ts';
import { painter, table, type Cell, type Paint } from '../table.ts';
import { problemLines, problemObjects } from './validate.ts';

/** Most severe first. */
export const SEVERITIES: readonly CheckSeverity[] = ['error', 'warning', 'info'];
export const FORMATS = ['table', 'json'] as const;

export interface HealthOptions {
  format: (typeof FORMATS)[number];
  failOn: CheckSeverity;
  model: boolean;
  mcp: boolean;
  memory: boolean;
}

/** `health <file>`: checks from this machine what the manifest declares: environment, files, network. */
export async function health(
  loaded: LoadedManifest,
  options: HealthOptions,
  context: CliContext,
): Promise<Rendered> {
  if (!loaded.ok) return renderInvalid(loaded, options);
  const { manifest, file } = loaded;
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
    checksModel: options.model,
    pingsServices: true,
    skippedCategories: [
      ...(options.mcp ? [] : (['mcp'] as const)),
      ...(options.memory ? [] : (['memory'] as const)),
    ],
  });
  return renderHealth(check(manifest, facts), options, context.color);
}

function renderInvalid(loaded: LoadedManifest & { ok: false }, { format }: HealthOptions): Rendered {
  const body = { error: 'the manifest is not valid', problems: problemObjects(loaded) };
  return failed(problemLines(loaded), format === 'json' ? json(body) : '');
}

/** Exit code 1 if a failed check is at least as severe as `failOn`. */
export function renderHealth(
  report: HealthReport,
  options: Pick<HealthOptions, 'format' | 'failOn'>,
  color: boolean,
): Rendered {
  const counted = SEVERITIES.slice(0, SEVERITIES.indexOf(options.failOn) + 1);
  const isFailed = report.checks.some(
    ({ status, severity }) => status === 'fail' && counted.includes(severity),
  );
  const output = options.format === 'json' ? json(report) : healthTable(report, painter(color));
  return done(output, isFailed ? 1 : 0);
}

const STATUS_STYLE = { pass: 'green', fail: 'red', skip: 'dim' } as const;
const REPORT_STYLE = { healthy: 'green', degraded: 'yellow', unhealthy: 'red' } as const;

function healthTable(report: HealthReport, paint: Paint): string {
  const { passed, failed: errors, warnings, skipped } = report.summary;
  const counts = `${passed} passed, ${errors} failed, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, ${skipped} skipped`;
  const head = `${printable(report.agentName)} is ${paint(REPORT_STYLE[report.status], report.status)}: ${counts}\n`;
  if (report.checks.length === 0) return head;
  const rows = report.checks.map((each) => rowOf(each));
  const remedies = report.checks.filter(
    ({ status, remediation }) => status === 'fail' && remediation !== undefined,
  );
  return [
    head,
    '\n',
    table(['STATUS', 'CHECK', 'SEVERITY', 'LATENCY', 'MESSAGE'], rows, paint),
    ...(remedies.length === 0 ? [] : ['\nRemediation:\n']),
    ...remedies.map(({ id, remediation }) => `  ${printable(id)}: ${printable(remediation ?? '')}\n`),
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
