import { actor } from './actor.ts';
import { integer, isoTime, named, nullable, text } from './field.ts';
import { object, type TypeOf } from './object.ts';

const members = object('A request of a person or program that changes something, with its result.', {
  id: integer('Increases with each action.', { min: 1 }),
  at: isoTime('Time of the response.'),
  action: text('The operation id of the route, such as `deleteAgent`.'),
  address: text('Address of the client.'),
  actor: nullable(actor),
  agentName: nullable(text('null: the request names no valid agent.')),
  namespace: nullable(text('Namespace of the agent; null: not known.')),
  ruleId: nullable(text('The rule of a proof; null: another action.')),
  status: integer('Status of the response.', { min: 200, max: 599 }),
});

/** An entry of the log of admin actions. */
export interface AdminAction extends TypeOf<typeof members> {}
export const adminAction = named('AdminAction', members);
