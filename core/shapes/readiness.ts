import { count } from './common.ts';
import { oneOf, text } from './field.ts';
import { list, namedObject, object } from './object.ts';
import { organisationFinding } from './organisation.ts';
import { POLICY_MODES } from './values.ts';

export const liveness = namedObject('Liveness', 'The process runs.', {
  status: oneOf('Only this value.', ['live']),
});

export const readiness = namedObject('Readiness', 'The process is ready.', {
  status: oneOf('Only this value.', ['ready']),
});

export const sidecarReadiness = namedObject('SidecarReadiness', 'Whether the sidecar itself can serve.', {
  status: oneOf('`judging`: the rules of the organisation are not known yet.', [
    'ok',
    'draining',
    'judging',
    'not-allowed',
  ]),
  policy: object('The policy of the proxy.', {
    mode: oneOf('The mode.', POLICY_MODES),
    engine: oneOf('The policy engine.', ['none', 'opa', 'builtin']),
  }),
  'stop?': text('Id of the stop of the agent. The sidecar stays ready, and refuses its requests.'),
  'nonce?': text('Value of `START_NONCE`.'),
  'findings?': list('The rules of the organisation that prevent the start.', organisationFinding),
});

export const drain = namedObject('Drain', 'Connections close after their next response.', {
  forSeconds: count('Duration in seconds.'),
});
