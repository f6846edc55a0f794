import type { Outcome } from '../../core/shapes/values.ts';

export const OUTCOME_TEXTS: Readonly<Record<Outcome, { title: string; note: string }>> = {
  allow: { title: 'Allowed', note: 'the policy allowed the request' },
  deny: { title: 'Denied', note: 'refused in mode enforce, recorded in mode track' },
  failOpen: { title: 'Failed open', note: 'the policy engine did not respond, and the request passed' },
  notEvaluated: {
    title: 'Not evaluated',
    note: 'no behavior in the response headers, no engine or no result, or the mode is off',
  },
};
