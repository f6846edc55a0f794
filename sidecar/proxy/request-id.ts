import { randomUUID } from 'node:crypto';
import { detached } from '../../core/untrusted/fields.ts';
import type { AuditRing } from '../audit/ring.ts';
import { valuesOf, type HeaderList } from './headers.ts';

/** 1..128 visible ASCII characters. */
const ACCEPTED = /^[\x21-\x7e]{1,128}$/;

/**
 * Returns the id under which a request is recorded: the client's id if it is valid and unused, else a new UUID. An id that is
 * still in the audit ring is replaced, because events would be assigned to the entry of another request.
 */
export function requestIdOf(raw: HeaderList, ring: Pick<AuditRing, 'find'>): string {
  const sent = valuesOf(raw, 'x-request-id');
  const [id] = sent;
  const isKept = sent.length === 1 && id !== undefined && ACCEPTED.test(id) && ring.find(id) === undefined;
  // A copy, because the audit ring keeps the id, and the id is a slice of the whole head.
  return isKept ? detached(id) : randomUUID();
}
