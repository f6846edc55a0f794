import { count } from './common.ts';
import { named, oneOf, optional, text } from './field.ts';
import { list, object } from './object.ts';
import { organisationFinding } from './organisation.ts';
import { POLICY_MODES } from './values.ts';

export const liveness = named(
  'Liveness',
  object('The process runs.', { status: oneOf('Only this value.', ['live']) }),
);

export const readiness = named(
  'Readiness',
  object('The process is ready.', { status: oneOf('Only this value.', ['ready']) }),
);

export const sidecarReadiness = named(
  'SidecarReadiness',
  object('Whether the sidecar itself can serve.', {
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
    nonce: optional(text('Value of `START_NONCE`.')),
    findings: optional(list('The rules of the organisation that prevent the start.', organisationFinding)),
  }),
);

export const drain = named(
  'Drain',
  object('Connections close after their next response.', { forSeconds: count('Duration in seconds.') }),
);
