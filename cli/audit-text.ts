import type { AuditResult, RuleResult, Score } from '../core/audit/audit.ts';
import type { Verdict } from '../core/shapes/verdict.ts';
import { PACKS, type Pack, type Grade, type SuppressionState } from '../core/shapes/values.ts';
import type { Fix } from '../core/audit/fixes.ts';
import type { Tier } from '../core/audit/rule.ts';
import type { EvaluatedSuppression } from '../core/shapes/audit.ts';
import { printable } from './rendered.ts';
import { plural, type Paint } from './table.ts';
import { verdictLine } from './verdict-line.ts';

/** `sidecar`: address that the evidence comes from; null: no evidence was requested. */
interface Details {
  fixes: readonly Fix[];
  sidecar: string | null;
  /** The verdict about the agent. */
  compliant: Pick<Verdict, 'status' | 'message'>;
}

/** The audit report as text. It ends with what a reader needs first, because a terminal shows the end. */
export function auditText(result: AuditResult, { fixes, sidecar, compliant }: Details, paint: Paint): string {
  return [
    heading(result, sidecar, paint),
    ...result.packs.map((pack) => packText(pack, result, paint)),
    pendingText(result, sidecar, paint),
    uncountedText(result, paint),
    staleText(result, paint),
    suppressionText(result.suppressions, paint),
    listText('declared, not checked', result.declaredNotChecked, paint),
    listText(
      'packs not audited',
      PACKS.filter((pack) => !result.packs.includes(pack)),
      paint,
    ),
    legend(paint),
    verdictLine(compliant, paint) + fixesText(fixes, result, paint),
  ]
    .filter((section) => section !== '')
    .join('\n');
}

const GRADE_STYLE: Readonly<Record<Grade, 'green' | 'yellow' | 'red'>> = {
  A: 'green',
  B: 'green',
  C: 'yellow',
  D: 'red',
  F: 'red',
};

function heading(result: AuditResult, sidecar: string | null, paint: Paint): string {
  const { agentName, version, results, declared, proved, pendingProofs } = result;
  const passedCount = results.filter(({ passed }) => passed).length;
  const verifiedCount = results.filter((each) => each.passed && each.earned !== 'D').length;
  const lines = [
    paint('bold', `${printable(agentName)} ${printable(version)}`),
    `  declared score ${scoreText(declared, paint)} grade ${declared.grade}   ${passedCount} of ${plural(results.length, 'rule')} passed`,
  ];
  if (proved !== null && sidecar !== null)
    lines.push(
      `  proved score   ${scoreText(proved, paint)} grade ${proved.grade}   ${verifiedCount} of ${plural(results.length, 'rule')} verified at ${sidecar}, ${plural(pendingProofs.length, 'proof')} pending`,
    );
  if (results.length === 0) lines.push('  no rule applies: every rule of these packs is suppressed');
  return lines.map((line) => `${line}\n`).join('');
}

function scoreText({ score, grade }: Score, paint: Paint): string {
  return paint(GRADE_STYLE[grade], `${String(score).padStart(3)}/100`);
}

const TIER_STYLE: Readonly<Record<Tier, 'dim' | 'green'>> = { D: 'dim', P: 'green', B: 'green', X: 'green' };
const ID_WIDTH = 10;
const SEVERITY_WIDTH = 8;

function packText(pack: Pack, { results }: AuditResult, paint: Paint): string {
  const own = results.filter(({ rule }) => rule.pack === pack);
  const passedCount = own.filter(({ passed }) => passed).length;
  const head = `${paint('bold', pack)}  ${passedCount} of ${own.length}\n`;
  return head + own.map((result) => ruleText(result, paint)).join('');
}

function ruleText(result: RuleResult, paint: Paint): string {
  const { rule, passed } = result;
  const mark = passed ? paint(TIER_STYLE[result.earned], `[${result.earned}]`) : paint('red', '[ ]');
  const start = `  ${mark} ${rule.id.padEnd(ID_WIDTH)}  ${rule.severity.padEnd(SEVERITY_WIDTH)}  `;
  if (passed) return `${start}${paint('dim', rule.passesWhen)}${originText(result)}\n`;
  const indent = ' '.repeat(6);
  return [
    `${start}${rule.message}\n`,
    `${indent}${printable(result.path)}: ${rule.recommendation}\n`,
    ...rule.references.map((reference) => `${indent}${paint('dim', reference)}\n`),
  ].join('');
}

function originText({ earned, origin }: RuleResult & { passed: true }): string {
  return earned === 'X' ? `  proof: ${origin ?? 'no origin'}` : '';
}

function uncountedText({ uncountedProofs }: AuditResult, paint: Paint): string {
  if (uncountedProofs.length === 0) return '';
  const hint =
    '  the sidecar accepts proofs only from the control plane; use --accept-local-proofs to count these too\n';
  return listText('local proofs, not counted', uncountedProofs, paint) + hint;
}

function staleText({ staleProofs }: AuditResult, paint: Paint): string {
  if (staleProofs.length === 0) return '';
  const hint =
    '  the manifest, the model, the prompt file or the lock has changed since the test: test again\n';
  return listText('stale proofs, not counted', staleProofs, paint) + hint;
}

/** How to submit a proof: to the sidecar, or to the control plane if only its proofs count. */
function pendingText(result: AuditResult, sidecar: string | null, paint: Paint): string {
  const { agentName, pendingProofs, proofWrites } = result;
  const [first] = pendingProofs;
  if (first === undefined || sidecar === null) return '';
  const body = `{"verifiedBy": "<who>", "method": "<what was tested and observed>"}`;
  const route =
    proofWrites === 'control-plane'
      ? `<control plane>/api/v1/agents/${printable(agentName)}/proof/rule/${first} -H 'x-admin-key: <key>'`
      : `${sidecar}/proof/rule/${first}`;
  return [
    listText('pending proofs', pendingProofs, paint),
    `  after testing: curl -X POST ${route} -H 'content-type: application/json' -d '${body}'\n`,
  ].join('');
}

const STATE_TEXT: Readonly<Record<SuppressionState, string>> = {
  active: 'suppressed',
  expired: 'expired, the rule applies',
  unreadable: 'expires is a reference, the rule applies',
  outside: 'its pack is not audited',
  unknown: 'unknown rule',
  unused: 'suppressed without need, the manifest satisfies the rule',
};

function suppressionText(suppressions: readonly EvaluatedSuppression[], paint: Paint): string {
  if (suppressions.length === 0) return '';
  const lines = suppressions.map(({ rule, reason, approvedBy, expires, state }) => {
    const until = expires === undefined ? '' : ` until ${printable(expires)}`;
    const by = approvedBy === undefined ? '' : ` (approved by ${printable(approvedBy)})`;
    const style = state === 'active' ? 'dim' : 'yellow';
    return `  ${printable(rule).padEnd(ID_WIDTH)}${until}  ${paint(style, STATE_TEXT[state])}: ${printable(reason)}${by}\n`;
  });
  return `${paint('bold', 'suppressions')}\n${lines.join('')}`;
}

const LINE_WIDTH = 100;

function listText(title: string, items: readonly string[], paint: Paint): string {
  if (items.length === 0) return '';
  const lines: string[] = [];
  for (const [index, item] of items.entries()) {
    const word = printable(item) + (index < items.length - 1 ? ',' : '');
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= LINE_WIDTH) lines.push(`  ${word}`);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return `${paint('bold', title)}\n${lines.map((line) => `${line}\n`).join('')}`;
}

function legend(paint: Paint): string {
  return `${paint('dim', '[D] declared  [P] probed  [B] observed  [X] proved  [ ] violated')}\n`;
}

function fixesText(fixes: readonly Fix[], { declared }: AuditResult, paint: Paint): string {
  if (fixes.length === 0) return '';
  const lines = fixes.map(
    (fix) =>
      `  ${scoreText(fix, paint)}  ${fix.ruleIds.join(', ')}\n${' '.repeat(11)}${fix.recommendation}\n`,
  );
  const title = `Fixes that gain most, with the declared score after each (now ${declared.score})`;
  return `${paint('bold', title)}\n${lines.join('')}Declare only what the agent does: a declaration that is contradicted costs points in platform gap.\n`;
}
