import {
  ADMISSION_POLICIES,
  CANARY_CONDITION,
  canaryConditionOf,
  passedWith,
  type PolicyCondition,
} from '../../kube/canary-condition.ts';
import type { KubeClient } from '../../kube/client.ts';
import { expectOk, getObject } from '../../kube/objects.ts';
import { applyObject } from '../../kube/server-side-apply.ts';
import type { Clock } from '../../runtime/clock.ts';
import { OUTCOMES, type Outcome, type CanaryResult } from './canary-result.ts';

/** The manager of the condition only; the API server owns the other fields of the status. */
const FIELD_MANAGER = 'agent-compliance-canary';

/**
 * Writes the condition `CanaryPassing` of the ValidatingAdmissionPolicy `name` when the outcome has changed, or when the
 * canary passes with another caBundle (`bundle`, PEM) than before. Resolves with the previous outcome; null: none. Throws
 * a KubeError when the API server returns an error, and an Error when the policy is missing.
 */
export async function updateCondition(
  name: string,
  result: CanaryResult,
  bundle: string,
  { client, clock, signal }: { client: KubeClient; clock: Clock; signal: AbortSignal },
): Promise<Outcome | null> {
  const policy = await getObject(client, ADMISSION_POLICIES, { name }, signal);
  if (policy === null) throw new Error(`ValidatingAdmissionPolicy ${name} is missing: the chart creates it`);
  const before = canaryConditionOf(policy);
  const condition = conditionOf(result, bundle, before, clock.now());
  if (!isSame(before, condition))
    expectOk(
      await applyObject(
        client,
        ADMISSION_POLICIES,
        { metadata: { name }, status: { conditions: [condition] } },
        { fieldManager: FIELD_MANAGER, force: true, subresource: 'status' },
      ),
    );
  return OUTCOMES.find((outcome) => reasonOf(outcome) === before?.reason) ?? null;
}

/** The condition for a result; `lastTransitionTime` changes only with the status. */
export function conditionOf(
  { outcome, message }: CanaryResult,
  bundle: string,
  before: PolicyCondition | null,
  now: Date,
): PolicyCondition {
  const status = outcome === 'passed' ? 'True' : 'False';
  const time = `${now.toISOString().slice(0, 19)}Z`;
  return {
    type: CANARY_CONDITION,
    status,
    reason: reasonOf(outcome),
    message: outcome === 'passed' ? passedWith(bundle) : message.slice(0, MAX_MESSAGE),
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : time,
  };
}

/** For readability; the API server accepts up to 32 KiB. */
const MAX_MESSAGE = 2_000;

/** A lasting failure keeps its first message, because the message may differ with every check (pod name, time). */
function isSame(before: PolicyCondition | null, after: PolicyCondition): boolean {
  return (
    before?.status === after.status &&
    before.reason === after.reason &&
    (after.status === 'False' || before.message === after.message)
  );
}

/** `no-answer` is `NoAnswer`. */
function reasonOf(outcome: Outcome): string {
  return outcome.replaceAll(/(?:^|-)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
