import { randomUUID } from 'node:crypto';
import { valuesOf, type HeaderList } from './headers.ts';

/** 1..128 visible ASCII characters. */
const ACCEPTED = /^[\x21-\x7e]{1,128}$/;

/** The id that a request is recorded under: the client's, when it sent one that can be kept, else a new UUID. */
export function requestIdOf(raw: HeaderList): string {
  const sent = valuesOf(raw, 'x-request-id');
  const [id] = sent;
  return sent.length === 1 && id !== undefined && ACCEPTED.test(id) ? id : randomUUID();
}
