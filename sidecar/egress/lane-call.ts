import type { Outcome } from '../../core/behavior/audit-entry.ts';
import type { EgressUsage } from '../../core/egress/egress-call.ts';
import type { Frame } from '../../core/egress/model-wire.ts';
import type { HeaderList } from '../proxy/headers.ts';

/** What is known about one call. The protocol of its lane fills it in while the call is in progress. */
export interface CallFacts {
  model: string | null;
  isStream: boolean;
  toolsOffered: readonly string[];
  toolsCalled: readonly string[];
  toolsExecuted: readonly string[];
  usage: EgressUsage | null;
  /** The vendor served the call, but stated no tokens, or the response was cut before them. */
  isUsageUnknown: boolean;
  violations: readonly string[];
  isBlocked: boolean;
  outcome: Outcome;
  /** Set when the call is recorded. Called when `toolsExecuted` changes after that. */
  onLate?: () => void;
}

export const NO_FACTS: Readonly<CallFacts> = {
  ...{
    model: null,
    isStream: false,
    usage: null,
    isUsageUnknown: false,
    isBlocked: false,
    outcome: 'notEvaluated',
  },
  ...{ toolsOffered: [], toolsCalled: [], toolsExecuted: [], violations: [] },
};

/** A response in place of the upstream's. */
export interface OwnResponse {
  status: number;
  /** Without `content-length` and the headers of a denial. */
  headers: HeaderList;
  body: string;
}

/** The body that is sent to the upstream, or the response to the agent. */
export type RequestStep = { send: Buffer } | { respond: OwnResponse };

/** Head of the upstream's response. */
export interface AnswerHead {
  status: number;
  /** Without parameters, in lower case; empty: none. */
  contentType: string;
  /** The body has a content coding. */
  isEncoded: boolean;
  /** The coding, if it can be decoded. */
  coding: string | null;
}

/** Why a body passed unread. `route`: unknown route. `size`: too large. `form`: not in the form of the protocol, or coded. */
export const UNREAD_REASONS = ['route', 'size', 'form'] as const;
export type UnreadReason = (typeof UNREAD_REASONS)[number];

/**
 * How the body of a response passes. `unread`: as it arrives. `whole`: after it was read as JSON. `frames`: frame by frame.
 * `isHeld`: the head is sent with the first frames that pass. `coding`: the body is decoded, and sent without this coding.
 */
export type Treatment =
  | {
      kind: 'unread';
      /** Absent: there is nothing to read, such as the body of an error. */ reason?: UnreadReason;
    }
  | { kind: 'whole'; coding?: string | null }
  | { kind: 'frames'; format: 'sse' | 'ndjson'; isHeld: boolean; coding?: string | null };

export const UNREAD: Treatment = { kind: 'unread' };

/** The JSON text in place of the body (null: unchanged), or a response in place of the upstream's. */
export type WholeStep = { body: string | null } | { respond: OwnResponse };

/** The frames that pass now. `isOver`: they end the response. Only a held response can still be replaced. */
export type FramesStep = { frames: readonly Frame[]; isOver?: true } | { respond: OwnResponse };

export interface CallEnd {
  /** Status of the upstream; null: it sent none. */
  status: number | null;
  /** The agent disconnected before the end of the response. */
  isAborted: boolean;
}

/**
 * One call in the protocol of its lane. The methods are called in their order here; after a response of its own only `end`.
 * A method that returns a promise delays the call, so it returns a plain value where it can.
 */
export interface LaneCall {
  readonly facts: CallFacts;
  /** The whole body was read. `body`: undefined if there is none, or if it is not JSON. */
  request(body: unknown, raw: Buffer): RequestStep | Promise<RequestStep>;
  /** In place of `request`: the body passes unread. `bytes`: its length; null: not known. A response denies the call. */
  unreadRequest(bytes: number | null): OwnResponse | null | Promise<OwnResponse | null>;
  /** Called first for each response. The body to send once more instead of this response; null: the response stands. */
  refused?(status: number): Buffer | null;
  head(head: AnswerHead): Treatment;
  /**
   * A part of a large body may pass now. `body`: the document so far; undefined: it cannot be read, and all of it passes unread. A
   * response: it must not pass. Absent: it always passes.
   */
  part?(body: unknown): OwnResponse | null | Promise<OwnResponse | null>;
  /** `body`: undefined if `raw` is not JSON. Of a large body, both have marks in place of long strings. */
  whole(body: unknown, raw: Buffer): WholeStep | Promise<WholeStep>;
  /** `isEnd`: the upstream's response has ended after these frames. */
  frames(frames: readonly Frame[], isEnd: boolean): FramesStep | Promise<FramesStep>;
  /** Called for a stream whose head was sent. `write` sends bytes of the lane itself between two frames. */
  opened?(write: (bytes: string) => void): void;
  /** The call is over. Completes the facts. */
  end(result: CallEnd): void | Promise<void>;
}
