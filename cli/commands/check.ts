import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckReport } from '../../core/diagnosis/check-report.ts';
import { fails } from '../../core/diagnosis/report.ts';
import type { CheckSeverity } from '../../core/diagnosis/rule.ts';
import type { Looked } from '../cluster/connect.ts';
import type { CheckOptions } from '../cluster/run-check.ts';
import type { CliContext } from '../context.ts';
import { failed, json, printable, type Rendered } from '../rendered.ts';
import { renderCheck } from './check-text.ts';

export interface CheckFlags extends CheckOptions {
  output: 'json' | 'text';
  failOn: CheckSeverity;
  /** Milliseconds; absent: one look. */
  wait?: number;
}

const PAUSE_MS = 2_000;

/** `check`: what is wrong with the cluster or the installation. */
export async function check(flags: CheckFlags, context: CliContext): Promise<Rendered> {
  const { lookAtCluster } = await import('../cluster/main.ts');
  const endMs = performance.now() + (flags.wait ?? 0);
  for (;;) {
    const looked = await lookAtCluster(flags, context);
    const leftMs = endMs - performance.now();
    if (leftMs <= 0 || !isWorthAnotherLook(looked, flags)) return rendered(looked, flags, context);
    context.progress?.(`${progressOf(looked, flags)}; ${Math.ceil(leftMs / 1_000)} s left`);
    await sleep(Math.min(PAUSE_MS, leftMs));
  }
}

function isWorthAnotherLook(looked: Looked<CheckReport>, { failOn }: CheckFlags): boolean {
  return looked.ok ? fails(looked.report.findings, failOn) : looked.mayPass;
}

function progressOf(looked: Looked<CheckReport>, { failOn }: CheckFlags): string {
  if (!looked.ok) return `waiting: ${printable(looked.reason)}`;
  const codes = looked.report.findings.filter((each) => fails([each], failOn)).map(({ code }) => code);
  return `waiting for ${[...new Set(codes)].join(', ')}`;
}

function rendered(looked: Looked<CheckReport>, flags: CheckFlags, { color }: CliContext): Rendered {
  if (looked.ok) return renderCheck(looked.report, { ...flags, color });
  return noCluster(looked.reason, flags);
}

/** There was nothing to look at. */
export function noCluster(reason: string, { output }: Pick<CheckFlags, 'output'>): Rendered {
  return failed(`${printable(reason)}\n`, output === 'json' ? json({ error: reason }) : '');
}
