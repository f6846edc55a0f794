import { bigCount } from './common.ts';
import { named } from './field.ts';
import { object, type ObjectOf } from './object.ts';

/** Number of requests by outcome. */
export const outcomeMembers = {
  allow: bigCount('Requests that the policy engine allowed.'),
  deny: bigCount('Requests that the policy engine denied, blocked or only tracked.'),
  failOpen: bigCount('Requests that passed because the policy engine was unavailable.'),
  notEvaluated: bigCount('Requests without evaluation: no behavior reported, no engine, or mode off.'),
};

export type OutcomeCounts = ObjectOf<typeof outcomeMembers>;
const members = object('Requests by the result of the policy.', outcomeMembers);
export const outcomeCounts = named('OutcomeCounts', members);
