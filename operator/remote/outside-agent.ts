import { GRADES, type Grade } from '../../core/gap/gap.ts';
import { DNS_LABEL, isDnsLabel } from '../../core/injection/names.ts';
import { PHASES, type Phase } from '../../core/observation/observation.ts';
import { RUNTIMES, type Runtime } from '../../core/observation/runtimes.ts';
import {
  described,
  fail,
  integer,
  isoTime,
  list,
  nullable,
  object,
  oneOf,
  parseWith,
  type Field,
  type Parsed,
} from '../../core/untrusted/fields.ts';

/** One row of `GET /api/v1/agents`; null: not reported yet. */
export interface OutsideAgent {
  agentId: string;
  agentName: string;
  namespace: string;
  runtime: Runtime;
  phase: Phase;
  grade: Grade | null;
  score: number | null;
  tokens: number | null;
  /** ISO 8601 */
  lastSeen: string | null;
}

const dnsLabel: Field<string> = described(
  { type: 'string', pattern: DNS_LABEL.source },
  (value, path, errors) =>
    typeof value === 'string' && isDnsLabel(value) ? value : fail(errors, path, 'must be a DNS label'),
);

/** Used as an annotation value and in comparisons. */
const AGENT_ID = /^[\x21-\x7e]{1,200}$/;
const agentId: Field<string> = described(
  { type: 'string', pattern: AGENT_ID.source },
  (value, path, errors) =>
    typeof value === 'string' && AGENT_ID.test(value)
      ? value
      : fail(errors, path, 'must be 1 to 200 visible ASCII characters'),
);

const agent = object<OutsideAgent>({
  agentId,
  agentName: dnsLabel,
  namespace: dnsLabel,
  runtime: oneOf(RUNTIMES),
  phase: oneOf(PHASES),
  grade: nullable(oneOf(GRADES)),
  score: nullable(integer({ min: 0, max: 100 })),
  tokens: nullable(integer({ min: 0 })),
  lastSeen: nullable(isoTime),
});

/** Maximum rows per page; equals the control plane's own limit. */
const MAX_ROWS = 1_000;

/**
 * Parses a page of the list. One invalid row makes the whole page invalid: without the row, the agent would be treated as
 * deleted and its observation removed.
 */
export function parseAgents(value: unknown): Parsed<OutsideAgent[]> {
  return parseWith(list(agent, { max: MAX_ROWS }), value);
}
