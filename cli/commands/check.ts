import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckReport } from '../../core/diagnosis/check-report.ts';
import { fails } from '../../core/diagnosis/report.ts';
import type { CheckSeverity } from '../../core/diagnosis/rule.ts';
import type { ClusterResult } from '../cluster/connect.ts';
import type { CheckOptions } from '../cluster/run-check.ts';
import type { CliContext } from '../context.ts';
import { failed, json, printable, type Rendered } from '../rendered.ts';
import { renderCheck } from './check-text.ts';

export interface CheckFlags extends CheckOptions {
  output: 'json' | 'text';
  failOn: CheckSeverity;
  /** Milliseconds; absent: one attempt. */
  wait?: number;
}

const PAUSE_MS = 2_000;

/** `check`: finds problems of the cluster or the installation. */
export async function check(flags: CheckFlags, context: CliContext): Promise<Rendered> {
  const { runCheck } = await import('../cluster/main.ts');
  const endMs = performance.now() + (flags.wait ?? 0);
  for (;;) {
    const result = await runCheck(flags, context);
    const leftMs = endMs - performance.now();
    if (leftMs <= 0 || !shouldRetry(result, flags)) return rendered(result, flags, context);
    context.progress?.(`${progressOf(result, flags)}; ${Math.ceil(leftMs / 1_000)} s left`);
    await sleep(Math.min(PAUSE_MS, leftMs));
  }
}

function shouldRetry(result: ClusterResult<CheckReport>, { failOn }: CheckFlags): boolean {
  return result.ok ? fails(result.report.findings, failOn) : result.isTransient;
}

function progressOf(result: ClusterResult<CheckReport>, { failOn }: CheckFlags): string {
  if (!result.ok) return `waiting: ${printable(result.reason)}`;
  const codes = result.report.findings.filter((each) => fails([each], failOn)).map(({ code }) => code);
  return `waiting for ${[...new Set(codes)].join(', ')}`;
}

function rendered(result: ClusterResult<CheckReport>, flags: CheckFlags, { color }: CliContext): Rendered {
  if (result.ok) return renderCheck(result.report, { ...flags, color });
  return noCluster(result.reason, flags);
}

/** The cluster could not be queried. */
export function noCluster(reason: string, { output }: Pick<CheckFlags, 'output'>): Rendered {
  return failed(`error: ${printable(reason)}\n`, output === 'json' ? json({ error: reason }) : '');
}
