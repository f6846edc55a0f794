// The operator's canary publishes its result as a condition on the ValidatingAdmissionPolicy that allows it dry runs only.
import { createHash } from 'node:crypto';
import type { Condition } from '../core/shapes/condition.ts';
import { resource } from './resources.ts';
import type { KubeObject } from './types.ts';

export const CANARY_CONDITION = 'CanaryPassing';

/** A condition in the format of the built-in Kubernetes kinds. */
export interface PolicyCondition extends Omit<Condition, 'type' | 'observedGeneration'> {
  type: string;
}

export interface AdmissionPolicy extends KubeObject {
  status?: { conditions?: PolicyCondition[] };
}

export const ADMISSION_POLICIES = resource<AdmissionPolicy>(
  'admissionregistration.k8s.io',
  'validatingadmissionpolicies',
  'ValidatingAdmissionPolicy',
);

export function canaryConditionOf(policy: AdmissionPolicy | null): PolicyCondition | null {
  return policy?.status?.conditions?.find(({ type }) => type === CANARY_CONDITION) ?? null;
}

/** The condition message of a canary that passed while the webhook's caBundle was `bundle` (PEM). */
export function passedWith(bundle: string): string {
  const fingerprint = createHash('sha256').update(bundle).digest('hex');
  return `the injected pod is the expected one; caBundle sha256:${fingerprint}`;
}

/** True when the canary passes and its last pass was with exactly this caBundle. */
export function isPassedWith(condition: PolicyCondition | null, bundle: string): boolean {
  return condition?.status === 'True' && condition.message === passedWith(bundle);
}
