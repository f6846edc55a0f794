import type { Evidence } from '../../core/audit/earned.ts';
import { countedProofs, type ProofTrust } from '../../core/evidence/counted-proofs.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import type { ChainHead, ChainReport } from '../../core/record/chain.ts';
import { EVIDENCE_TYPE, STATEMENT_TYPE, type EvidenceStatement } from '../../core/shapes/attestation.ts';
import type { AuditSummary, EvaluatedSuppression } from '../../core/shapes/audit.ts';
import type { EvidenceItem } from '../../core/shapes/evidence.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import type { Check } from '../../core/shapes/health.ts';
import type { HistoryChange, HistoryPoint } from '../../core/shapes/history.ts';
import type { OrganisationStatus } from '../../core/shapes/organisation.ts';
import type { OutcomeCounts } from '../../core/shapes/outcomes.ts';
import type { ProofRecord } from '../../core/shapes/proof.ts';
import type { Verdict } from '../../core/shapes/verdict.ts';
import type { Severity } from '../../core/shapes/values.ts';
import { judgeSuppressions } from '../../core/audit/suppressions.ts';
import { RULES } from '../../core/audit/rules.ts';
import { controlsOf, rowsOf, type EvidenceRow, type Framework } from './controls.ts';
import type { DayEvents, LogSummary, SeenFinding, SeenLoss, SeenStop } from './log-summary.ts';
import { ruleStates } from './rule-states.ts';
import type { EvidenceRange } from './range.ts';

/** A part that a bundle does not have. */
export interface NotIncluded {
  part: string;
  reason: string;
}

/** A process of the agent. */
export interface Instance {
  name: string;
  sidecarVersion: string | null;
  manifestHash: string | null;
  startedAt: string;
}

/** What a control plane or a sidecar reports about the agent now. null: not known; `notIncluded` has the reason. */
export interface Reported {
  kind: 'control-plane' | 'sidecar';
  url: string;
  namespace: string | null;
  verdict: Verdict | null;
  score: number | null;
  grade: string | null;
  policyMode: string | null;
  issues: Issue[] | null;
  checks: Check[];
  /** Guardrails that were reported for requests of the last 24 hours. */
  guardrails: string[];
  items: EvidenceItem[] | null;
  audit: AuditSummary | null;
  proofs: ProofRecord[] | null;
  trust: ProofTrust;
  manifestHash: string | null;
  instances: Instance[];
  organisation: OrganisationStatus | null;
  /** Rules of the organisation from which the agent is excepted, as policy/rule. */
  excepted: string[];
  /** By UTC day. */
  history: { points: HistoryPoint[]; changes: HistoryChange[] } | null;
  /** Since the start of each sidecar. */
  outcomes: OutcomeCounts | null;
  stops: SeenStop[] | null;
  heads: ChainHead[] | null;
  notIncluded: NotIncluded[];
}

/** A log file that was read. */
export interface ReadFile {
  name: string;
  sha256: string;
  lines: number;
}

/** The audit log that the bundle was made from. null: none. */
export interface ReadLog {
  summary: LogSummary;
  files: ReadFile[];
  /** null: no file was read, so no chain was verified. */
  chain: ChainReport | null;
  /** The last line of each chain in the files. */
  ends: ChainHead[];
}

export interface BundleInputs {
  agent: string;
  namespace: string | null;
  range: EvidenceRange;
  at: Date;
  version: string;
  manifest: { value: Manifest; sha256: string; text: string | null } | null;
  reported: Reported | null;
  log: ReadLog | null;
  notIncluded: readonly NotIncluded[];
}

export interface Finding extends Omit<SeenFinding, 'firstSeen' | 'lastSeen'> {
  severity: Severity | null;
  recommendation: string;
  /** null: not known. */
  firstSeen: string | null;
  lastSeen: string | null;
}

export interface BundleProof extends Omit<ProofRecord, 'state'> {
  /**
   * Whether the record counted at the end of the range, or now if the range has not ended. stale: it does not, because a value to which
   * it is bound has changed.
   */
  state: 'counts' | 'does not count' | 'stale';
}

/** The content of `evidence.json`. Times are ISO 8601, days are UTC. */
export interface EvidenceBundle {
  schema: typeof EVIDENCE_TYPE;
  agent: { name: string; namespace: string | null };
  range: EvidenceRange;
  generatedAt: string;
  generator: { name: 'agent-compliance'; version: string };
  source: Pick<Reported, 'kind' | 'url'> | null;
  /** `text`: null if the file contains a secret. `isReported`: whether the agent runs with it; null: not known. */
  manifest: { sha256: string; isReported: boolean | null; text: string | null } | null;
  verdict: Pick<Reported, 'verdict' | 'score' | 'grade' | 'policyMode'> & {
    days: Pick<HistoryPoint, 'at' | 'phase' | 'grade' | 'score' | 'scoreMin' | 'outcomes'>[];
    changes: HistoryChange[];
  };
  findings: Finding[];
  organisation: OrganisationStatus | null;
  proofs: BundleProof[];
  outcomes: { inRange: OutcomeCounts | null; sinceStart: OutcomeCounts | null };
  stops: SeenStop[];
  exceptions: { suppressions: EvaluatedSuppression[]; organisation: string[] };
  auditLog: {
    days: DayEvents[];
    denials: LogSummary['denials'];
    persons: number;
    withoutPerson: number;
    losses: SeenLoss[];
    files: ReadFile[];
    chain: ChainReport | null;
    heads: ChainHead[];
    /** Where the heads come from: `control-plane` had received them before the bundle; `files` are the ends of the files. */
    headsFrom: 'control-plane' | 'files' | null;
  };
  items: EvidenceItem[];
  instances: Instance[];
  rows: EvidenceRow[];
  frameworks: Framework[];
  notIncluded: NotIncluded[];
}

/** Evidence of the last 24 hours is evidence of the range only until this long after its end. */
const CURRENT_MS = 24 * 60 * 60 * 1000;

/** What no bundle has. */
const NEVER_INCLUDED: readonly NotIncluded[] = [
  { part: 'prompts, responses, tool arguments', reason: 'the product does not keep them' },
  { part: 'image digests', reason: 'heartbeats do not have them; the versions of the sidecars are included' },
  {
    part: 'approved tool definitions (agent.lock)',
    reason: 'this version does not compare tool definitions',
  },
  {
    part: 'seconds without policy engine',
    reason: 'requests that passed are counted (failOpen), not seconds',
  },
];

/** Composes the content of a bundle. */
export function bundleOf(inputs: BundleInputs): EvidenceBundle {
  const { agent, range, at, version, manifest, reported, log } = inputs;
  const end = new Date(Math.min(at.getTime(), Date.parse(range.to) - 1));
  const evidence = evidenceIn(inputs, end);
  const findings = findingsOf(reported?.issues ?? null, log?.summary.findings ?? []);
  const rules = ruleStates({
    ...{ manifest: manifest?.value ?? null, evidence, at: end },
    reported: reported?.audit ?? null,
  });
  const openIssues = findings.flatMap(({ property, isOpen }) => (isOpen ? [property] : []));
  const rows = rowsOf({ rules, openIssues, capabilities: capabilitiesOf(inputs) });
  return {
    schema: EVIDENCE_TYPE,
    agent: { name: agent, namespace: inputs.namespace ?? reported?.namespace ?? null },
    range,
    generatedAt: at.toISOString(),
    generator: { name: 'agent-compliance', version },
    source: reported === null ? null : { kind: reported.kind, url: reported.url },
    manifest: manifest && { sha256: manifest.sha256, isReported: isReported(inputs), text: manifest.text },
    verdict: verdictOf(reported),
    findings,
    organisation: reported?.organisation ?? null,
    proofs: proofsOf(reported, evidence.proofs),
    outcomes: { inRange: outcomesIn(inputs), sinceStart: reported?.outcomes ?? null },
    stops: stopsOf(inputs),
    exceptions: {
      suppressions:
        manifest === null
          ? (reported?.audit?.suppressions ?? [])
          : judgeSuppressions(manifest.value, RULES, end),
      organisation: reported?.excepted ?? [],
    },
    auditLog: auditLogOf(inputs),
    items: reported?.items ?? [],
    instances: reported?.instances ?? [],
    rows,
    frameworks: controlsOf(rows),
    notIncluded: [
      ...inputs.notIncluded,
      ...(reported?.notIncluded ?? []),
      ...unknownTimes(findings),
      ...NEVER_INCLUDED,
    ],
  };
}

/** The statement that is signed. @param files SHA-256 by file name */
export function statementOf(
  { agent, range, generatedAt, manifest, auditLog, frameworks }: EvidenceBundle,
  files: Readonly<Record<string, string>>,
): EvidenceStatement {
  return {
    _type: STATEMENT_TYPE,
    subject: Object.entries(files).map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: EVIDENCE_TYPE,
    predicate: {
      ...{ agent, range, generatedAt, manifestSha256: manifest?.sha256 ?? null, heads: auditLog.heads },
      counts: Object.fromEntries(frameworks.map(({ id, counts }) => [id, counts])),
    },
  };
}

/** Whether the agent runs with the manifest of the bundle; null: not known. */
function isReported({ manifest, reported }: BundleInputs): boolean | null {
  const hash = reported?.manifestHash ?? null;
  return manifest === null || hash === null ? null : manifest.sha256 === hash;
}

/** The evidence that belongs to the range and to the manifest: proofs that were submitted before its end, and what was seen in it. */
function evidenceIn(inputs: BundleInputs, end: Date): Evidence {
  const { reported, log, range, at } = inputs;
  const isCurrent =
    isReported(inputs) !== false &&
    at.getTime() < Date.parse(range.to) + CURRENT_MS &&
    at.getTime() >= Date.parse(range.from);
  const trust = reported?.trust ?? { writes: 'control-plane' };
  const proofs = (reported?.proofs ?? []).filter(({ verifiedAt }) => Date.parse(verifiedAt) <= end.getTime());
  return {
    checks: isCurrent ? (reported?.checks ?? []) : [],
    guardrailsObserved: new Set([
      ...(isCurrent ? (reported?.guardrails ?? []) : []),
      ...(log?.summary.guardrails ?? []),
    ]),
    proofs: countedProofs(proofs, trust, end),
    trust,
  };
}

function findingsOf(issues: readonly Issue[] | null, seen: readonly SeenFinding[]): Finding[] {
  const open = (issues ?? []).map(({ property, description, severity, recommendation }): Finding => {
    const times = seen.find((each) => each.property === property);
    const known = { firstSeen: times?.firstSeen ?? null, lastSeen: times?.lastSeen ?? null };
    return { property, description, severity, recommendation, isOpen: true, ...known };
  });
  const others = seen.filter(({ property }) => !open.some((each) => each.property === property));
  // The report of now is newer than the log.
  const closed = others.map(({ isOpen, ...each }): Finding => ({
    ...{ ...each, severity: null, recommendation: '', isOpen: isOpen && issues === null },
  }));
  return [...open, ...closed];
}

const unknownTimes = (findings: readonly Finding[]): NotIncluded[] =>
  findings.some(({ firstSeen }) => firstSeen === null)
    ? [{ part: 'first and last time of findings', reason: 'the audit log of the range has no event of them' }]
    : [];

const verdictOf = (reported: Reported | null): EvidenceBundle['verdict'] => ({
  verdict: reported?.verdict ?? null,
  score: reported?.score ?? null,
  grade: reported?.grade ?? null,
  policyMode: reported?.policyMode ?? null,
  days: (reported?.history?.points ?? []).map(({ at, phase, grade, score, scoreMin, outcomes }) => ({
    ...{ at, phase, grade, score, scoreMin, outcomes },
  })),
  changes: reported?.history?.changes ?? [],
});

const proofsOf = (reported: Reported | null, counted: readonly ProofRecord[]): BundleProof[] =>
  (reported?.proofs ?? []).map((proof) => ({
    ...proof,
    state: proof.state ?? (counted.includes(proof) ? 'counts' : 'does not count'),
  }));

/** The sum of the days: of the history, else of the log. */
function outcomesIn({ reported, log }: BundleInputs): OutcomeCounts | null {
  const days = reported?.history?.points ?? log?.summary.days ?? null;
  if (days === null) return null;
  const sum = (outcome: keyof OutcomeCounts) =>
    days.reduce((total, { outcomes }) => total + outcomes[outcome], 0);
  return {
    ...{ allow: sum('allow'), deny: sum('deny') },
    ...{ failOpen: sum('failOpen'), notEvaluated: sum('notEvaluated') },
  };
}

/** The stops that the log has, and those that the control plane has without an event. */
function stopsOf({ reported, log }: BundleInputs): SeenStop[] {
  const seen = log?.summary.stops ?? [];
  const others = (reported?.stops ?? []).filter(
    (stop) => !seen.some(({ at, state }) => at === stop.at && state === stop.state),
  );
  return [...seen, ...others].sort((a, b) => (a.at < b.at ? -1 : 1));
}

function auditLogOf({ reported, log }: BundleInputs): EvidenceBundle['auditLog'] {
  const sent = reported?.heads ?? [];
  const ends = log?.ends ?? [];
  const [heads, headsFrom] = sent.length > 0 ? [sent, 'control-plane' as const] : [ends, 'files' as const];
  return {
    days: log?.summary.days ?? [],
    denials: log?.summary.denials ?? [],
    persons: log?.summary.persons ?? 0,
    withoutPerson: log?.summary.withoutPerson ?? 0,
    losses: log?.summary.losses ?? [],
    files: log?.files ?? [],
    chain: log?.chain ?? null,
    heads,
    headsFrom: heads.length === 0 ? null : headsFrom,
  };
}

/** The capabilities of the product that the bundle has evidence of. */
function capabilitiesOf({ reported, log }: BundleInputs): Map<string, string> {
  const events = (log?.summary.days ?? []).reduce((sum, day) => sum + day.events, 0);
  const { chain = null } = log ?? {};
  const compared = (chain?.chains ?? []).reduce((sum, part) => sum + part.heads, 0);
  const isVerified = compared > 0 && chain?.findings.length === 0 && (reported?.heads ?? []).length > 0;
  return new Map([
    ...(events > 0 ? [['audit-log', `${events} events in the range`] as const] : []),
    ...(isVerified
      ? [['audit-chain', `the log agrees with ${compared} heads that were sent before`] as const]
      : []),
  ]);
}
