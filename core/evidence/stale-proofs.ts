import { referenceOf } from '../manifest/references.ts';
import type { BoundTo, ProofRecord } from '../shapes/proof.ts';

/** The values in force that a proof may be bound to. null: there is none. undefined: not known here, so it is not compared. */
export type InForce = { [K in keyof BoundTo]?: string | null | undefined };

/** The values of `boundTo` that differ from the values in force. */
export function changedSince(boundTo: BoundTo | undefined, inForce: InForce): (keyof BoundTo)[] {
  const members = Object.keys(boundTo ?? {}) as (keyof BoundTo)[];
  return members.filter((member) => {
    const current = inForce[member];
    return current !== undefined && current !== boundTo?.[member];
  });
}

/** The id of the model, if the manifest has it and not a reference to it. */
export const literalModel = (id: string | undefined): string | undefined =>
  id === undefined || referenceOf(id) !== null ? undefined : id;

/** The record with the state that follows from the values in force. */
export function judgedProof(record: ProofRecord, inForce: InForce): ProofRecord {
  const isStale = changedSince(record.boundTo, inForce).length > 0;
  if (isStale === (record.state === 'stale')) return record;
  const { state: _, ...rest } = record;
  return isStale ? { ...rest, state: 'stale' } : rest;
}
