import { sequence } from './common.ts';
import { isoTime, oneOf, text, type Field } from './field.ts';
import { namedObject, type TypeOf } from './object.ts';

/** The conditions that the product writes. Other clients may add others. */
export type ConditionType =
  | 'Ready'
  | 'Reporting'
  | 'AgentReachable'
  | 'ModelReachable'
  | 'Injected'
  | 'PolicyLoaded'
  | 'Routed'
  | 'Conflict'
  | 'ManifestValid'
  | 'SidecarFits'
  | 'Allowed'
  | 'Stopped'
  | 'Compliant'
  /** Of an AgentPolicy. */
  | 'Accepted';

export const condition = namedObject('Condition', "One aspect of the agent's state.", {
  type: text('The aspect.') as Field<ConditionType>,
  status: oneOf('Whether the condition is true.', ['True', 'False', 'Unknown']),
  reason: text('The reason as one word; docs/reference/agentobservation.md lists all reasons.'),
  message: text('The reason as a sentence.'),
  lastTransitionTime: isoTime('Time of the last change of status.'),
  'observedGeneration?': sequence('metadata.generation that this condition refers to.'),
});

/** A Kubernetes condition. `lastTransitionTime` has no fractions of a second, and changes only with `status`. */
export interface Condition extends TypeOf<typeof condition> {}
