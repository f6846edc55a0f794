import { expect, test } from '@jest/globals';
import type { TrialFacts } from '../../authoring/diagnosis/facts.ts';
import { trialOf } from './trial.ts';

const PLACE = { namespace: 'canary', guard: 'agent-compliance-guard' };
const forbidden = (message: string) =>
  trialOf({ ok: false, status: 403, reason: 'Forbidden', message, retryAfterMs: null }, PLACE);
type RejectedBy = Extract<TrialFacts, { outcome: 'refused' }>['by'];

test.each<[string, string, RejectedBy]>([
  [
    'the injector',
    'admission webhook "pod.inject.platform.io" denied the request: platform.io/inject: "maybe" is not accepted',
    'injector',
  ],
  [
    'the guard',
    `pods "platform-check" is forbidden: ValidatingAdmissionPolicy 'agent-compliance-guard' with binding 'agent-compliance-guard' denied request: no`,
    'guard',
  ],
  [
    'the guard of another release',
    `pods "platform-check" is forbidden: ValidatingAdmissionPolicy 'other-guard' with binding 'other-guard' denied request: no`,
    'other',
  ],
  [
    'a quota',
    'pods "platform-check" is forbidden: exceeded quota: q, requested: pods=1, used: pods=9, limited: pods=9',
    'other',
  ],
  [
    'Pod Security',
    'pods "platform-check" is forbidden: violates PodSecurity "restricted:latest": seccompProfile',
    'other',
  ],
  [
    'an API server that cannot call the injector',
    'Internal error occurred: failed calling webhook "pod.inject.platform.io": connection refused',
    'other',
  ],
  ['another webhook', 'admission webhook "x.example.com" denied the request: no', 'other'],
])('recognises a rejection by %s', (_, message, by) => {
  expect(forbidden(message)).toEqual({
    known: true,
    value: { outcome: 'refused', by, message, noResponse: false },
  });
});

test.each([
  [
    'pods is forbidden: User "x" cannot create resource "pods" in API group ""',
    'missing permission: create pods',
  ],
  ['etcdserver: request timed out', 'cannot create a test pod in canary: etcdserver'],
])('an error that is not a rejection is unknown: %s', (message, why) => {
  expect(forbidden(message)).toEqual({ known: false, why: expect.stringContaining(why) });
});
