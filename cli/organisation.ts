import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import type { AgentPolicy, Judgement, Subject } from '../core/organisation/finding.ts';
import { expressionsFor, expressionVariables, isDenied, judge } from '../core/organisation/judge.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import { parsePath, positionsIn } from '../core/manifest/position.ts';
import type { ProofRecord } from '../core/shapes/proof.ts';
import { ManifestWorker } from '../runtime/manifest-worker.ts';
import { loadPolicies } from '../runtime/organisation-files.ts';
import type { CliContext } from './context.ts';
import { readCauseOf } from './file-failure.ts';
import type { Finding } from './findings/finding.ts';
import { printable } from './rendered.ts';
import { plural, type Paint } from './table.ts';

/** Options of a command that judges a manifest by the rules of the organisation. */
export interface OrganisationFlags {
  /** File or directory with AgentPolicy documents. */
  policy?: string;
  namespace?: string;
  namespaceLabel?: Record<string, string>;
}

/** Parses `key=value`, repeatable. */
export function collectLabel(value: string, before: Record<string, string> = {}): Record<string, string> {
  const [, key, label] = /^([^=]+)=(.*)$/.exec(value) ?? [];
  if (key === undefined || label === undefined) throw new InvalidArgumentError('Must be key=value.');
  return { ...before, [key]: label };
}

export type Judged =
  | { ok: true; policies: readonly AgentPolicy[]; judgement: Judgement }
  | { ok: false; reason: string };

/** The judgement of a manifest by the policies of a file or directory. `proofs`: those of its sidecar; null: no sidecar. */
export async function judgeManifest(
  manifest: Manifest,
  { path, flags, proofs }: { path: string; flags: OrganisationFlags; proofs: readonly ProofRecord[] | null },
  { cwd, now }: Pick<CliContext, 'cwd' | 'now'>,
): Promise<Judged> {
  const loaded = await loadPolicies(resolve(cwd, path), path).catch((error: unknown) => ({
    ok: false as const,
    problems: [`${path}: ${readCauseOf(error)}`],
  }));
  if (!loaded.ok) return { ok: false, reason: loaded.problems.map(printable).join('\n') };
  const { namespace = null, namespaceLabel } = flags;
  // The API server sets this label on every namespace. Other labels are known only if one is given.
  const name = namespace === null ? {} : { 'kubernetes.io/metadata.name': namespace };
  const subject: Subject = {
    ...{ manifest, namespace, names: [manifest.metadata.name], at: now() },
    labels: namespaceLabel === undefined ? null : { ...name, ...namespaceLabel },
    observation: proofs === null ? null : { phase: 'Unknown', proofs: [...proofs] },
  };
  const worker = new ManifestWorker();
  const expressions = expressionsFor(loaded.policies, subject);
  const results = await worker.evaluateAll(expressions, expressionVariables(subject));
  await worker.close();
  const judgement = judge(loaded.policies, subject, results);
  return { ok: true, policies: loaded.policies, judgement };
}

/** Member `organisation` of the JSON report. */
export const organisationObject = ({ findings, notJudged }: Judgement): object => ({
  allowed: !isDenied({ findings }),
  findings,
  notJudged,
});

const STYLES = { Deny: 'red', Warn: 'yellow', Audit: 'dim' } as const;

/** The section of the text report. */
export function organisationText({ findings, notJudged }: Judgement, paint: Paint): string {
  const denied = findings.filter(({ action }) => action === 'Deny').length;
  const none =
    notJudged.length === 0 ? paint('green', 'no rule is broken') : 'no rule that was judged is broken';
  const state =
    findings.length === 0 ? none : `${plural(findings.length, 'finding')}, ${denied} of Deny rules`;
  const lines = findings.map(
    ({ policy, rule, severity, action, path, message }) =>
      `  ${paint(STYLES[action], action.padEnd(5))} ${printable(`${policy}/${rule}`)} (${severity})\n` +
      `        ${printable(path === '' ? message : `${path}: ${message}`)}\n`,
  );
  const missed = notJudged.map(
    ({ policy, rule, reason }) =>
      `  ${paint('dim', 'not judged here')}  ${printable(rule === undefined ? policy : `${policy}/${rule}`)}: ${printable(reason)}\n`,
  );
  return `${paint('bold', 'organisation rules')}  ${state}\n${lines.join('')}${missed.join('')}`;
}

/** The findings at their positions in the manifest, for the tools of a CI system. */
export function organisationFindings(
  { findings }: Judgement,
  { file, text }: { file: string; text: string },
): Finding[] {
  const positionOf = positionsIn(text);
  return findings.map(({ policy, rule, severity, action, path, message }) => ({
    code: `organisation/${policy}/${rule}`,
    item: path,
    // A rule that only warns does not fail a build.
    severity: action === 'Deny' ? severity : 'low',
    title: `organisation rule ${policy}/${rule} (${action})`,
    message: path === '' ? message : `${path}: ${message}`,
    help: '',
    file,
    ...positionOf(parsePath(path)),
  }));
}

/** An error line if a Deny rule is broken; else empty. */
export function denialsText({ findings }: Judgement): string {
  const denied = findings.filter(({ action }) => action === 'Deny');
  if (denied.length === 0) return '';
  const rules = new Set(denied.map(({ policy, rule }) => `${policy}/${rule}`));
  return `error: the manifest breaks ${plural(rules.size, 'organisation rule')}: ${printable([...rules].join(', '))}\n`;
}
