import { columnsOf, parseLine } from '../../core/record/columns.ts';
import { MAX_LINE_BYTES } from '../../core/record/line.ts';
import type { AuditRow } from '../stores/audit-events.ts';
import type { AgentKey } from '../stores/store.ts';

/** Characters of `metadata.uid`. Longer ones do not fit in an index of PostgreSQL. */
const MAX_UID = 600;

/** The start of the chains of this control plane. No pod has such a name. */
export const OWN_CHAINS = 'control-plane/';

/** The row of a line; `error`: why the line is not stored. */
export type ReadRow = { ok: true; row: AuditRow } | { ok: false; error: string };

/**
 * The row of a line, under the agent of its `actor.app_uid`.
 * @param received the event cannot be later, so that a fast clock does not keep it beyond the retention
 */
export function rowOf(line: string, received: Date): ReadRow {
  if (Buffer.byteLength(line) > MAX_LINE_BYTES)
    return { ok: false, error: `has more than ${MAX_LINE_BYTES} bytes` };
  const parsed = parseLine(line);
  if (!parsed.ok) return { ok: false, error: `is ${parsed.error}` };
  const { uid, at, namespace, agent, kind, outcome, user, tools } = columnsOf(parsed.event);
  if (uid.length > MAX_UID)
    return { ok: false, error: `has a metadata.uid of more than ${MAX_UID} characters` };
  const time = new Date(Math.min(at, received.getTime()));
  const key = { namespace, name: agent };
  return { ok: true, row: { key, uid, at: time, kind, outcome, user, tools, line } };
}

/**
 * The row of a line that an agent sent, under the agent of its credential.
 * @param isPod the sender runs in the namespace of `key`. Others do not know the namespace in which they are registered.
 */
export function sentRowOf(
  line: string,
  { key, isPod }: { key: AgentKey; isPod: boolean },
  received: Date,
): ReadRow {
  const read = rowOf(line, received);
  if (!read.ok) return read;
  const { row } = read;
  if (row.uid.startsWith(OWN_CHAINS))
    return { ok: false, error: `has a metadata.uid of the control plane (${OWN_CHAINS})` };
  if (row.key.name !== key.name || (isPod && row.key.namespace !== key.namespace))
    return { ok: false, error: 'is about another agent (actor.app_uid)' };
  return { ok: true, row: { ...row, key } };
}
