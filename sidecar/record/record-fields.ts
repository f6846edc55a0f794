import {
  integer,
  oneOf,
  optionalHttpUrl,
  optionalOneOf,
  optionalText,
  type Summaries,
} from '../../runtime/env.ts';

/** `calls`: without requests that were only allowed. `decisions`: denials, fail-open, findings, stops, process events and losses. */
export const RECORDED = ['all', 'calls', 'decisions'] as const;

/** Which events the control plane gets. `calls`: all calls, and the events of `decisions`. */
export const FORWARD_LEVELS = ['decisions', 'calls', 'off'] as const;
export type ForwardLevel = (typeof FORWARD_LEVELS)[number];

/** The variables of the audit log, in addition to AUDIT_LOG, which is that of an annotation. */
export const RECORD_FIELDS = {
  AUDIT_LOG_PATH: optionalText,
  AUDIT_LOG_MAX_MB: integer({ min: 1, max: 100_000, default: 64 }),
  AUDIT_LOG_FILES: integer({ min: 1, max: 100, default: 4 }),
  AUDIT_LOG_EVENTS: oneOf(RECORDED, 'all'),
  AUDIT_LOG_FORWARD: optionalOneOf(FORWARD_LEVELS),
  AUDIT_LOG_OTLP_URL: optionalHttpUrl,
};

export const RECORD_SUMMARIES: Summaries<typeof RECORD_FIELDS> = {
  AUDIT_LOG_PATH:
    'Path of the audit log with AUDIT_LOG=file: a regular file, which is created if it is missing.',
  AUDIT_LOG_MAX_MB: 'Size in MB at which the file is renamed to AUDIT_LOG_PATH.1 and a new file begins.',
  AUDIT_LOG_FILES: 'Number of renamed files that are kept.',
  AUDIT_LOG_EVENTS:
    'Which events are written. calls: without requests that were only allowed. decisions: only denials, requests that passed unevaluated because the policy engine was unavailable, findings, stops, starts and losses.',
  AUDIT_LOG_FORWARD:
    'Which events are also sent to the control plane. decisions: denials, requests that passed unevaluated because the policy engine was unavailable, findings, stops, starts and losses. calls: also all calls. off: none. Unset: decisions if PLATFORM_URL is set and AUDIT_LOG is not off, else off.',
  AUDIT_LOG_OTLP_URL:
    'Base URL of an OpenTelemetry collector, without /v1/logs, to which all events are also sent as log records. Unset: they are not sent.',
};
