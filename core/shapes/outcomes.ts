import { count } from './common.ts';
import { named } from './field.ts';
import { object } from './object.ts';

/** Number of requests by outcome. */
export const outcomeMembers = {
  allow: count('The policy allowed the request.'),
  deny: count('The policy denied the request.'),
  failOpen: count('The policy engine was unreachable.'),
  notEvaluated: count('No behavior reported, no engine, or mode off.'),
};

export const outcomeCounts = named(
  'OutcomeCounts',
  object('Requests by the result of the policy.', outcomeMembers),
);
