/** Faults of an example agent at run time, independent of its manifest. Selected with `AGENT_FAULTS`. */
export const FAULTS = {
  'pii-only-for-long-messages': 'The pii-detector is skipped for messages under 80 characters',
  'streams-unfiltered': 'Output guardrails are skipped for streamed responses',
  'refunds-unconfirmed': 'Destructive tools run without the confirmation of the user',
  'health-fails': 'GET /health returns 503',
  'no-capabilities': 'GET /capabilities returns 404',
  'claims-tools': 'GET /capabilities lists every declared tool, even if it does not exist',
  'no-reporter': 'The reporter is not mounted',
  'no-behavior': 'Responses have no behavioral headers',
  'claims-guardrails': 'No guardrail runs, but responses report every declared guardrail',
  'claims-checks': 'GET /platform/health reports every check as passed',
  'other-model': 'The agent uses another model than the declared one',
} as const;

export type Fault = keyof typeof FAULTS;

export const PROFILES = {
  compliant: [],
  gappy: [],
  silent: ['no-reporter', 'no-behavior'],
  lying: ['claims-guardrails', 'claims-checks', 'other-model'],
  misbehaving: ['pii-only-for-long-messages', 'streams-unfiltered', 'refunds-unconfirmed'],
} as const satisfies Readonly<Record<string, readonly Fault[]>>;

export type Profile = keyof typeof PROFILES;
