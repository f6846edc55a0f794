import { flag, text } from './field.ts';
import { list, namedObject, object, type TypeOf } from './object.ts';

const interfaceMembers = object('An interface of the agent.', {
  url: text('Address of the interface.'),
  protocolBinding: text('Such as `JSONRPC`.'),
  protocolVersion: text('A2A version of the interface.'),
});
export interface AgentInterface extends TypeOf<typeof interfaceMembers> {}

const skillMembers = object('A declared tool or skill.', {
  id: text('Unique in the card.'),
  name: text('Name of the skill.'),
  description: text('What the skill does.'),
  tags: list('`tool` or `skill`, then the tags of the manifest.', text('A tag.')),
});
export interface AgentSkill extends TypeOf<typeof skillMembers> {}

const modes = (description: string) => list(description, text('A media type.'));

/** A2A 1.0 AgentCard with the fields that a manifest can provide. */
export const agentCard = namedObject('AgentCard', 'The A2A agent card, derived from the manifest.', {
  name: text('Name of the agent.'),
  description: text('Purpose of the agent.'),
  version: text('Version of the agent.'),
  supportedInterfaces: list(
    'The interface in `spec.api.a2a`; empty without it, because no other source shows that the agent supports A2A.',
    interfaceMembers,
  ),
  capabilities: object('What the agent supports.', {
    streaming: flag('`spec.api.streaming`.'),
    pushNotifications: flag('Always false.'),
  }),
  defaultInputModes: modes('Media types of the requests.'),
  defaultOutputModes: modes('Media types of the responses.'),
  skills: list('The declared tools and skills.', skillMembers),
});
export interface AgentCard extends TypeOf<typeof agentCard> {}
