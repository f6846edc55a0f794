import { isoTime, named, text } from './field.ts';
import { object } from './object.ts';

/** The response to a registration. */
export const agentKey = named(
  'AgentKey',
  object('The key of a registered agent. It is not stored and cannot be read again.', {
    agentId: text('Id of the agent.'),
    apiKey: text('The key.'),
    expiresAt: isoTime('The key is not valid after this time.'),
  }),
);
