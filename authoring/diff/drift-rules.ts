import { isRecord } from '../../core/untrusted/fields.ts';
import type { DriftSeverity } from '../../core/shapes/values.ts';
import { referenceOf } from '../../core/manifest/references.ts';
import type { Change } from './changes.ts';

/** How much one kind of change weakens an agent: a row of the table. The first row that applies decides. */
export interface DriftRule {
  code: string;
  severity: DriftSeverity;
  /** Points on the relative score, 0 or negative. */
  scoreImpact: number;
  /** The changes of this row, as text. */
  when: string;
  applies: (change: Change) => boolean;
}

const under =
  (...paths: readonly string[]) =>
  ({ property }: Change): boolean =>
    paths.some(
      (path) => property === path || property.startsWith(`${path}.`) || property.startsWith(`${path}[`),
    );
const isRemoved = ({ type }: Change) => type === 'removed';
const isAdded = ({ type }: Change) => type === 'added';
const isLower = ({ from, to }: Change) => typeof from === 'number' && typeof to === 'number' && to < from;
const isHigher = ({ from, to }: Change) => typeof from === 'number' && typeof to === 'number' && to > from;
const isSwitchedOff = ({ from, to }: Change) => from === true && to !== true;

const referenceKind = (value: unknown) => (typeof value === 'string' ? referenceOf(value)?.kind : undefined);
const isKey = (value: unknown) => ['secret', 'env'].includes(String(referenceKind(value)));

const toolHints = ({ to }: Change): Record<string, unknown> =>
  isRecord(to) && isRecord(to['annotations']) ? to['annotations'] : {};
const isTool = ({ property }: Change) => /^spec\.tools\[.*\]$/.test(property);

const isConstraints = ({ property }: Change) => /^spec\.tools\[[^\]]*\]\.constraints$/.test(property);

/** Limits of cost, tokens, requests and time: without them, or with higher ones, the agent can do more harm. */
const LIMITS = ['spec.model.costControls', 'spec.api.rateLimit'];
const RETENTION = ['spec.memory.shortTerm.ttlSeconds', 'spec.memory.longTerm.ttlDays'];
const SAFEGUARDS = [
  ...LIMITS,
  ...RETENTION,
  'spec.memory.hygiene',
  'spec.api.auth',
  'spec.compliance.packs',
  'spec.humanInTheLoop',
];

/** The rows of command rule 6 of the contract, then the changes that it counts as LOW, with 0 to -3 points. */
export const DRIFT_RULES: readonly DriftRule[] = [
  {
    code: 'guardrail-removed',
    severity: 'HIGH',
    scoreImpact: -15,
    when: 'a guardrail was removed',
    applies: (change) =>
      isRemoved(change) && /^spec\.guardrails\.(?:input|output)\[[^\]]*\]$/.test(change.property),
  },
  {
    code: 'key-reference-removed',
    severity: 'HIGH',
    scoreImpact: -10,
    when: 'a `$secret:` or `$env:` reference was removed or replaced by a literal value',
    applies: ({ from, to }) => isKey(from) && referenceKind(to) === undefined,
  },
  {
    code: 'model-provider-changed',
    severity: 'MEDIUM',
    scoreImpact: -8,
    when: 'the provider of the model or of its fallback changed',
    applies: ({ property }) => /^spec\.model\.(?:fallback\.)?provider$/.test(property),
  },
  {
    code: 'model-changed',
    severity: 'MEDIUM',
    scoreImpact: -5,
    when: 'the id of the model or of its fallback changed',
    applies: ({ property }) => /^spec\.model\.(?:fallback\.)?id$/.test(property),
  },
  {
    code: 'evaluation-removed',
    severity: 'MEDIUM',
    scoreImpact: -8,
    when: 'the evaluation or a part of it was removed, or its CI gate was disabled',
    applies: (change) => under('spec.evaluation')(change) && (isRemoved(change) || isSwitchedOff(change)),
  },
  {
    code: 'evaluation-lowered',
    severity: 'LOW',
    scoreImpact: -3,
    when: 'a threshold of the evaluation was lowered',
    applies: (change) => under('spec.evaluation.thresholds')(change) && isLower(change),
  },
  {
    code: 'guardrail-changed',
    severity: 'LOW',
    scoreImpact: -3,
    when: 'a guardrail has another action, threshold, sensitivity, or fewer topics or fields',
    applies: (change) => under('spec.guardrails')(change) && !isAdded(change),
  },
  {
    code: 'observability-removed',
    severity: 'LOW',
    scoreImpact: -3,
    when: 'tracing, metrics, logging or a part of them was removed or disabled',
    applies: (change) => under('spec.observability')(change) && (isRemoved(change) || isSwitchedOff(change)),
  },
  {
    code: 'tool-added-destructive',
    severity: 'LOW',
    scoreImpact: -3,
    when: 'a tool was added that is destructive or does not declare whether it is',
    applies: (change) =>
      isTool(change) && isAdded(change) && (toolHints(change)['destructiveHint'] ?? true) === true,
  },
  {
    code: 'tool-added',
    severity: 'LOW',
    scoreImpact: -1,
    when: 'a tool was added that declares `destructiveHint: false`',
    applies: (change) => isTool(change) && isAdded(change),
  },
  {
    code: 'constraints-changed',
    severity: 'LOW',
    scoreImpact: -3,
    when: 'the constraints of a tool were removed or changed',
    applies: (change) =>
      /^spec\.tools\[[^\]]*\]\.constraints\./.test(change.property) ||
      (isConstraints(change) && !isAdded(change)),
  },
  {
    code: 'egress-widened',
    severity: 'LOW',
    scoreImpact: -3,
    when: 'a host, tool or model was added to `spec.egress`',
    applies: (change) => under('spec.egress')(change) && isAdded(change),
  },
  {
    code: 'price-changed',
    severity: 'LOW',
    scoreImpact: -1,
    when: 'a price in `spec.model.prices`, with which costs are computed, was lowered or removed',
    applies: (change) => under('spec.model.prices')(change) && (isRemoved(change) || isLower(change)),
  },
  {
    code: 'key-reference-weakened',
    severity: 'LOW',
    scoreImpact: -3,
    when: 'a `$secret:` reference became another kind of reference',
    applies: ({ from, to }) => referenceKind(from) === 'secret' && referenceKind(to) !== 'secret',
  },
  {
    code: 'limit-raised',
    severity: 'LOW',
    scoreImpact: -3,
    when: 'a limit of cost, tokens or requests, or a retention time was raised',
    applies: (change) => under(...LIMITS, ...RETENTION)(change) && isHigher(change),
  },
  {
    code: 'safeguard-removed',
    severity: 'LOW',
    scoreImpact: -3,
    when: 'a limit, a retention time, memory hygiene, authentication, a rule pack or human approval was removed or disabled',
    applies: (change) =>
      under(...SAFEGUARDS)(change) &&
      (isRemoved(change) ||
        isSwitchedOff(change) ||
        (change.property === 'spec.api.auth.type' && change.to === 'none')),
  },
  {
    code: 'rule-suppressed',
    severity: 'LOW',
    scoreImpact: -3,
    when: 'a rule was suppressed',
    applies: (change) =>
      isAdded(change) && /^spec\.compliance\.suppressions\[[^\]]*\]$/.test(change.property),
  },
  {
    code: 'other-change',
    severity: 'LOW',
    scoreImpact: 0,
    when: 'any other change',
    applies: () => true,
  },
];

/** The first row that applies to the change. */
export function driftRuleOf(change: Change): DriftRule {
  const rule = DRIFT_RULES.find(({ applies }) => applies(change));
  if (rule === undefined) throw new Error(`no drift rule applies to ${change.property}`);
  return rule;
}
