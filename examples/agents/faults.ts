/** What an example agent can do wrong at run time, whatever its manifest says. `AGENT_FAULTS` names them. */
export const FAULTS = {
  'pii-only-for-long-messages': 'The pii-detector is skipped for messages under 80 characters',
  'streams-unfiltered': 'Output guardrails are skipped for streamed answers',
  'refunds-unconfirmed': 'Destructive tools run without the confirmation of the user',
  'health-fails': 'GET /health answers 503',
  'no-capabilities': 'GET /capabilities answers 404',
  'claims-tools': 'GET /capabilities lists every declared tool, whether it was built or not',
  'no-reporter': 'The reporter is not mounted',
  'no-behavior': 'Answers carry no behavioral headers',
  'claims-guardrails': 'No guardrail runs, and answers report every declared one',
  'claims-checks': 'GET /platform/health reports every check as passed',
  'other-model': 'Another model answers than the declared one',
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
