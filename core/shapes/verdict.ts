import { oneOf, text } from './field.ts';
import { object, type TypeOf } from './object.ts';

export const verdict = object(
  'The verdict: the condition `Compliant` with its reason and one short phrase.',
  {
    status: oneOf('Whether the agent keeps to its manifest.', ['True', 'False', 'Unknown']),
    reason: text('The reason in one word.', { cut: 1_024 }),
    message: text('Why; for Unknown, what to do.', { cut: 32_768 }),
  },
);

/** The verdict about an agent. */
export interface Verdict extends TypeOf<typeof verdict> {}
