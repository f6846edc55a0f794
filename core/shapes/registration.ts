import { fail } from '../untrusted/fields.ts';
import { DNS_LABEL } from './common.ts';
import { fieldOf, isoTime, matching, named, oneOf, text, type Field } from './field.ts';
import { object } from './object.ts';
import { RUNTIMES } from './values.ts';

const manifestText: Field<string> = fieldOf(
  (value, path, errors) => {
    if (typeof value === 'string') return value;
    // JSON is valid YAML.
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return JSON.stringify(value);
    return fail(errors, path, 'must be the text of agent.yaml or the manifest as a JSON object');
  },
  () => ({
    description:
      'The text of agent.yaml, or the manifest as a JSON object. It must be valid; only its hash and the model are stored.',
    anyOf: [{ type: 'string' }, { type: 'object' }],
  }),
);

/** The body of `POST /api/v1/register`. */
export const registrationBody = object('An agent outside of the cluster.', {
  agentName: matching('Name of the agent, unique in the namespace for remote agents.', {
    pattern: DNS_LABEL,
    wanted: 'a DNS label: 1 to 63 characters of a-z, 0-9 and "-"',
  }),
  runtime: oneOf('Where the agent runs.', RUNTIMES),
  'manifest?': manifestText,
});

/** The response to a registration. */
const members = object('The key of a registered agent. It is not stored and cannot be read again.', {
  agentId: text('Id of the agent.', { max: 100 }),
  apiKey: text('The key.', { max: 16_384 }),
  expiresAt: isoTime('The key is not valid after this time.'),
});
export const agentKey = named('AgentKey', members);
