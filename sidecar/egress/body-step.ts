import type { Coding } from './codings.ts';
import type { OwnResponse, UnreadReason } from './lane-call.ts';

/** What passes now. `isChanged`: the body is not the upstream's; `length`: its length, if known. `isOver`: nothing follows. */
export type BodyStep =
  | { chunks: readonly Buffer[]; isChanged: boolean; length?: number; isOver?: true }
  /** null: the response has begun, and ends here, incomplete. */
  | { respond: OwnResponse | null };

export interface BodyLimits {
  maxBytes: number;
  /** Content codings of the body. */
  codings: readonly Coding[];
  /** Reserves memory; false: there is none. */
  keep: (bytes: number) => boolean;
  /** Called when a body is too large to be read. */
  onUnread(reason: UnreadReason): void;
}

/** Bytes of a response that the memory of every call includes. */
const ORDINARY_BYTES = 16 * 1024;

/** A body or a frame that is larger than what is parsed is held up to this many times as much. */
export const HELD_PARTS = 4;

/** The bytes that count towards the budget of the lanes. */
export const countedBytes = (heldBytes: number): number => Math.max(0, heldBytes - ORDINARY_BYTES);

export const NOTHING: BodyStep = { chunks: [], isChanged: false };
