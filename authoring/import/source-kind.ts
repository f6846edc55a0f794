import type { Cursor } from './cursor.ts';
import type { Draft } from './draft.ts';

/** One format of documents that describe an agent. */
export interface SourceKind {
  /** With its versions, for example `an A2A agent card (0.3 or 1.0)`. */
  name: string;
  /** Decides by the content, without recording anything. */
  matches: (document: Cursor) => boolean;
  /** `others`: all other documents of the source. */
  convert: (document: Cursor, others: readonly Cursor[]) => Draft;
}
