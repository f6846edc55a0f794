import type { Outcome } from '../../core/shapes/values.ts';
import type { ResponseFormat } from '../../core/egress/response-format.ts';
import type { EgressUsage } from '../../core/shapes/egress-call.ts';
import type { Frame } from '../../core/egress/model-wire.ts';
import type { HeaderList } from '../proxy/headers.ts';
import type { JsonBody } from './json-body.ts';

/** What is known about one call. The protocol of its lane fills it in while the call is in progress. */
export interface CallFacts {
  model: string | null;
  /** Further models that the request names. */
  otherModels: readonly string[];
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
  ...{ toolsOffered: [], toolsCalled: [], toolsExecuted: [], violations: [], otherModels: [] },
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
export interface LaneHead {
  status: number;
  /** Without parameters, in lower case; empty: none. */
  contentType: string;
  /** From the content type or the first bytes of the body; null: not a format that is read. */
  format: ResponseFormat | null;
}

/** Why a body passed unread. `route`: unknown route. `size`: too large. `form`: not in the form of the protocol, or coded. */
export const UNREAD_REASONS = ['route', 'size', 'form'] as const;
export type UnreadReason = (typeof UNREAD_REASONS)[number];

/**
 * How the body of a response passes. `unread`: as it arrives. `whole`: after it was read as JSON. `frames`: frame by frame.
 * `isHeld`: the head is sent with the first frames that pass. `isCopied`: nothing of it is ever changed, so it passes as it arrives, and
 * the call reads a copy. `isDecoded`: it passes without its content coding, so that a large one is read in parts.
 */
export type Treatment =
  | {
      kind: 'unread';
      /** Absent: there is nothing to read, such as the body of an error. */ reason?: UnreadReason;
    }
  | { kind: 'whole'; isCopied?: boolean; isDecoded?: boolean }
  | { kind: 'frames'; format: 'sse' | 'ndjson'; isHeld: boolean; isCopied?: boolean };

/** The JSON text or the bytes in place of the body (null: unchanged), or a response in place of the upstream's. */
export type WholeStep = { body: string | Buffer | null } | { respond: OwnResponse };

/**
 * The frames that pass now. `isOver`: they end the response. `isCopied`: the rest of the stream is never changed. Only a held response
 * can still be replaced.
 */
export type FramesStep =
  | { frames: readonly Frame[]; isOver?: true; isCopied?: boolean }
  | { respond: OwnResponse };

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
  /** The whole body was read. */
  request(body: JsonBody, raw: Buffer): RequestStep | Promise<RequestStep>;
  /** In place of `request`: the body passes unread. `bytes`: its length; null: not known. A response denies the call. */
  unreadRequest(bytes: number | null): OwnResponse | null | Promise<OwnResponse | null>;
  /** Called first for each response. The body to send once more instead of this response; null: the response stands. */
  refused?(status: number): Buffer | null;
  head(head: LaneHead): Treatment;
  /** A part of a large body may pass now: the document so far. A response: it must not pass. Absent: it always passes. */
  part?(body: JsonBody): OwnResponse | null | Promise<OwnResponse | null>;
  /** Of a large body, `body` and `raw` have marks in place of long strings. */
  whole(body: JsonBody, raw: Buffer): WholeStep | Promise<WholeStep>;
  /** The body of the response cannot be read: the response in place of it; null: it passes unread. */
  unreadResponse(): OwnResponse | null;
  /** `isEnd`: the upstream's response has ended after these frames. */
  frames(frames: readonly Frame[], isEnd: boolean): FramesStep | Promise<FramesStep>;
  /** Called for a stream whose head was sent. `write` sends bytes of the lane itself between two frames. */
  opened?(write: (bytes: string) => void): void;
  /** The call is over. Completes the facts. */
  end(result: CallEnd): void | Promise<void>;
}
