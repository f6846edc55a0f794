import { stopDirective } from './agent-stop.ts';
import { amount, count } from './common.ts';
import { sentDirective } from './directive.ts';
import { integer, named, nullable, oneOf } from './field.ts';
import { list, object, type TypeOf } from './object.ts';
import { proofRecord } from './proof.ts';

const reply = object('What the sender of a heartbeat does not know yet.', {
  'proof?': list('All proofs, which replace those of the sender.', proofRecord),
  'proofRevision?': count('Revision of the proofs.'),
  'othersToday?': object('Usage of the other instances on the current UTC day.', {
    tokens: count('Tokens of the day.'),
    costUsd: amount('Cost of the day; 0 without prices in the manifest.'),
  }),
  'organisation?': sentDirective,
  'stop?': nullable(stopDirective),
  'manifest?': oneOf(
    'The control plane does not know the manifest of this hash; send it with PUT /api/v1/manifest.',
    ['wanted'],
  ),
  'intervalSeconds?': integer('The interval to use from now on.', { min: 1 }),
});

/** Body of a 200 response to a heartbeat. Absent members are left out on the wire. A 204 response is the empty reply. */
export interface HeartbeatReply extends TypeOf<typeof reply> {}
export const heartbeatReply = named('HeartbeatReply', reply);
