import { amount, bigCount, utcDay } from './common.ts';
import { processMembers } from './instance.ts';
import { list, object, type TypeOf } from './object.ts';

const endedProcess = object('One terminated process.', {
  ...processMembers,
  tokens: bigCount('Its tokens of the day.'),
  costUsd: amount('Their cost in US dollars.'),
});
export interface EndedProcess extends TypeOf<typeof endedProcess> {}

/** Tokens and cost of one UTC day. */
export interface DayUse extends Pick<EndedProcess, 'tokens' | 'costUsd'> {}

/** Usage on one UTC day by processes that no longer exist. */
export const departedToday = object(
  'Usage of the current UTC day by terminated instances. Written by the operator when a pod terminates, and by the control plane when a sidecar has restarted.',
  {
    day: utcDay('UTC day (YYYY-MM-DD).'),
    tokens: bigCount('Their tokens.'),
    costUsd: amount('Their cost in US dollars.'),
    'instances?': list(
      'The latest terminated instances with usage, and instances beyond 1,000; at most 150. When an instance reports again, its usage is removed here, so that nothing counts twice.',
      endedProcess,
      { max: 150 },
    ),
  },
);
