import { randomUUID } from 'node:crypto';
import type { AuditRing } from '../audit/ring.ts';
import { valuesOf, type HeaderList } from './headers.ts';

/** 1..128 visible ASCII characters. */
const ACCEPTED = /^[\x21-\x7e]{1,128}$/;

/**
 * The id that a request is recorded under: the client's, when it sent one that can be kept, else a new UUID. One that is
 * still in the ring is not kept: the events of one request would go to the entry of another one.
 */
export function requestIdOf(raw: HeaderList, ring: Pick<AuditRing, 'find'>): string {
  const sent = valuesOf(raw, 'x-request-id');
  const [id] = sent;
  const isKept = sent.length === 1 && id !== undefined && ACCEPTED.test(id) && ring.find(id) === undefined;
  return isKept ? id : randomUUID();
}
