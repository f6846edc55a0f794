/** The value of an attribute. Other kinds of values (lists of values, maps, bytes) are not used. */
export type AttributeValue = string | number | boolean;

/** The parts of an OpenTelemetry span that are evidence. */
export interface OtlpSpan {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  /** Empty: a root span. */
  parentId: string;
  name: string;
  /** Milliseconds since 1970. */
  startMs: number;
  endMs: number;
  /** The status of the span is `ERROR`. */
  isError: boolean;
  /** Only the attributes that the reader selects. */
  attributes: ReadonlyMap<string, AttributeValue>;
}

/** Reason why an export request is rejected with 400. */
export class MalformedExport extends Error {}

/** Limits of one export request. An exporter sends 512 spans by default, with at most 128 attributes each. */
export const EXPORT_LIMITS = {
  /** Nested messages or JSON values. */
  depth: 64,
  spans: 10_000,
  /** Messages of protobuf, or objects and lists of JSON. A body of tiny ones would need 20 times its size in memory. */
  messages: 250_000,
  /** Commas of JSON, also those in strings: an upper limit for the members of objects and lists. */
  commas: 400_000,
  /** Attributes of one span, with those of its events and links. */
  attributes: 2_000,
} as const;

/** Maximum characters of a name or a text attribute; the rest is cut. */
export const MAX_TEXT = 500;

/** What a decoder keeps of the attributes. */
export type WantedAttributes = ReadonlySet<string>;

/** Milliseconds with three decimal places: a number cannot hold the nanoseconds since 1970. */
export const millisecondsOf = (nanoseconds: number): number => Math.round(nanoseconds / 1e3) / 1e3;

export const isNullId = (hex: string): boolean => /^0*$/.test(hex);
