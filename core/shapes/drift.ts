import { integer, oneOf, text } from './field.ts';
import { namedObject, type TypeOf } from './object.ts';

export const drift = namedObject('Drift', 'Pods that differ for the same reason.', {
  reason: oneOf(
    'The difference. sidecar-missing: the pod opts in but has no sidecar. not-opted-in: the pod has the agent label but does not opt in. ca-unknown: the pod trusts another CA than the control plane, which rejects its reports. not-injected: the pod has a sidecar but does not opt in. record-missing: the sidecar has no injection record. version-outdated, configuration-outdated: the sidecar has another version or other settings.',
    [
      'sidecar-missing',
      'not-opted-in',
      'ca-unknown',
      'not-injected',
      'record-missing',
      'version-outdated',
      'configuration-outdated',
    ],
  ),
  pods: integer('Number of live pods.', { min: 1 }),
  example: text('The name of the alphabetically first of these pods.'),
});

/** Live pods that do not match the current installation. */
export interface Drift extends TypeOf<typeof drift> {}
export type DriftReason = Drift['reason'];
