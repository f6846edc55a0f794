import { cut } from '../untrusted/fields.ts';
import {
  BYTES,
  FIXED32,
  FIXED64,
  ProtobufReader,
  VARINT,
  type Range,
  type WireType,
} from './protobuf-reader.ts';
import {
  EXPORT_LIMITS,
  isNullId,
  MalformedExport,
  MAX_TEXT,
  type AttributeValue,
  type OtlpSpan,
  type WantedAttributes,
} from './span.ts';

/** Bytes of a text that are decoded; at most three bytes for each of `MAX_TEXT` UTF-16 units. */
const MAX_TEXT_BYTES = 3 * MAX_TEXT;
/** Longest name of an attribute that is compared. */
const MAX_KEY_BYTES = 256;

/** A field of a message: its wire type, and its message if it is one. */
interface FieldRule {
  name: string;
  wire: WireType;
  message?: () => Message;
}

/** The fields of a message by number. Unknown fields of a later version are skipped. */
type Message = Readonly<Record<number, FieldRule>>;

const bytes = (name: string): FieldRule => ({ name, wire: BYTES });
const varint = (name: string): FieldRule => ({ name, wire: VARINT });
const fixed64 = (name: string): FieldRule => ({ name, wire: FIXED64 });
const fixed32 = (name: string): FieldRule => ({ name, wire: FIXED32 });
const message = (name: string, of: () => Message): FieldRule => ({ name, wire: BYTES, message: of });

/** The messages of opentelemetry-proto (trace/v1, common/v1, resource/v1). */
const ANY_VALUE: Message = {
  1: bytes('string_value'),
  2: varint('bool_value'),
  3: varint('int_value'),
  4: fixed64('double_value'),
  5: message('array_value', () => ARRAY_VALUE),
  6: message('kvlist_value', () => KEY_VALUE_LIST),
  7: bytes('bytes_value'),
};
const ARRAY_VALUE: Message = { 1: message('values', () => ANY_VALUE) };
const KEY_VALUE: Message = { 1: bytes('key'), 2: message('value', () => ANY_VALUE) };
const KEY_VALUE_LIST: Message = { 1: message('values', () => KEY_VALUE) };
const RESOURCE: Message = {
  1: message('attributes', () => KEY_VALUE),
  2: varint('dropped_attributes_count'),
};
const SCOPE: Message = {
  1: bytes('name'),
  2: bytes('version'),
  3: message('attributes', () => KEY_VALUE),
  4: varint('dropped_attributes_count'),
};
const EVENT: Message = {
  1: fixed64('time_unix_nano'),
  2: bytes('name'),
  3: message('attributes', () => KEY_VALUE),
  4: varint('dropped_attributes_count'),
};
const LINK: Message = {
  1: bytes('trace_id'),
  2: bytes('span_id'),
  3: bytes('trace_state'),
  4: message('attributes', () => KEY_VALUE),
  5: varint('dropped_attributes_count'),
  6: fixed32('flags'),
};
const STATUS: Message = { 2: bytes('message'), 3: varint('code') };
const SPAN: Message = {
  1: bytes('trace_id'),
  2: bytes('span_id'),
  3: bytes('trace_state'),
  4: bytes('parent_span_id'),
  5: bytes('name'),
  6: varint('kind'),
  7: fixed64('start_time_unix_nano'),
  8: fixed64('end_time_unix_nano'),
  9: message('attributes', () => KEY_VALUE),
  10: varint('dropped_attributes_count'),
  11: message('events', () => EVENT),
  12: varint('dropped_events_count'),
  13: message('links', () => LINK),
  14: varint('dropped_links_count'),
  15: message('status', () => STATUS),
  16: fixed32('flags'),
};
const SCOPE_SPANS: Message = {
  1: message('scope', () => SCOPE),
  2: message('spans', () => SPAN),
  3: bytes('schema_url'),
};
const RESOURCE_SPANS: Message = {
  1: message('resource', () => RESOURCE),
  2: message('scope_spans', () => SCOPE_SPANS),
  3: bytes('schema_url'),
};
const EXPORT_REQUEST: Message = { 1: message('resource_spans', () => RESOURCE_SPANS) };

/** `STATUS_CODE_ERROR` */
const ERROR = 2;

/** Decodes an ExportTraceServiceRequest. Throws MalformedExport if any part of it is not valid. */
export function decodeProtobuf(body: Uint8Array, wanted: WantedAttributes): OtlpSpan[] {
  return new Decoder(body, wanted).spans();
}

class Decoder {
  readonly #body: Uint8Array;
  readonly #wanted: WantedAttributes;
  readonly #spans: OtlpSpan[] = [];
  #messages = 0;
  /** Attributes of the current span. */
  #attributes = 0;

  constructor(body: Uint8Array, wanted: WantedAttributes) {
    this.#body = body;
    this.#wanted = wanted;
  }

  spans(): OtlpSpan[] {
    this.#check(EXPORT_REQUEST, { from: 0, to: this.#body.length }, 1);
    return this.#spans;
  }

  /** Checks a message with everything in it; reads the spans. */
  #check(of: Message, range: Range, depth: number): void {
    if (depth > EXPORT_LIMITS.depth)
      throw new MalformedExport(`messages are nested deeper than ${EXPORT_LIMITS.depth}`);
    this.#messages += 1;
    if (this.#messages > EXPORT_LIMITS.messages)
      throw new MalformedExport(`the request has more than ${EXPORT_LIMITS.messages} messages`);
    if (of === KEY_VALUE) this.#attributes += 1;
    if (this.#attributes > EXPORT_LIMITS.attributes)
      throw new MalformedExport(`a span has more than ${EXPORT_LIMITS.attributes} attributes`);
    const reader = new ProtobufReader(this.#body, range);
    while (reader.next()) {
      const rule = of[reader.field];
      if (rule === undefined) continue;
      reader.require(rule.wire, rule.name);
      if (rule.message === undefined) continue;
      const inner = rule.message();
      if (inner === SPAN) this.#span(reader.range, depth + 1);
      else this.#check(inner, reader.range, depth + 1);
      // The limit also applies to each resource and each scope.
      if (inner === RESOURCE || inner === SCOPE) this.#attributes = 0;
    }
  }

  #span(range: Range, depth: number): void {
    if (this.#spans.length === EXPORT_LIMITS.spans)
      throw new MalformedExport(`the request has more than ${EXPORT_LIMITS.spans} spans`);
    this.#attributes = 0;
    const attributes = new Map<string, AttributeValue>();
    const span: OtlpSpan = {
      ...{ traceId: '', spanId: '', parentId: '', name: '' },
      ...{ startMs: 0, endMs: 0, isError: false, attributes },
    };
    const reader = new ProtobufReader(this.#body, range);
    while (reader.next()) {
      const rule = SPAN[reader.field];
      if (rule === undefined) continue;
      reader.require(rule.wire, rule.name);
      if (rule.message !== undefined) this.#check(rule.message(), reader.range, depth + 1);
      this.#read(reader, span, attributes);
    }
    if (isNullId(span.traceId)) throw new MalformedExport('a span has no trace_id');
    if (isNullId(span.spanId)) throw new MalformedExport('a span has no span_id');
    this.#spans.push(span);
  }

  #read(reader: ProtobufReader, span: OtlpSpan, attributes: Map<string, AttributeValue>): void {
    const { field } = reader;
    if (field === 1) span.traceId = idOf(reader, 16, 'trace_id');
    else if (field === 2) span.spanId = idOf(reader, 8, 'span_id');
    else if (field === 4) span.parentId = reader.at === reader.value ? '' : idOf(reader, 8, 'parent_span_id');
    else if (field === 5) span.name = cut(reader.text(MAX_TEXT_BYTES, 'name'), MAX_TEXT);
    else if (field === 7) span.startMs = reader.milliseconds;
    else if (field === 8) span.endMs = reader.milliseconds;
    else if (field === 9) this.#attribute(reader.range, attributes);
    else if (field === 15) span.isError = this.#isError(reader.range);
  }

  #isError(status: Range): boolean {
    const reader = new ProtobufReader(this.#body, status);
    let code = 0;
    while (reader.next()) if (reader.field === 3) code = reader.int64;
    return code === ERROR;
  }

  #attribute(range: Range, attributes: Map<string, AttributeValue>): void {
    const reader = new ProtobufReader(this.#body, range);
    let key = '';
    let value: Range | null = null;
    while (reader.next())
      if (reader.field === 1) key = reader.text(MAX_KEY_BYTES, 'the key of an attribute');
      else if (reader.field === 2) value = reader.range;
    if (value === null || !this.#wanted.has(key) || attributes.has(key)) return;
    const read = this.#plainValue(value);
    if (read !== null) attributes.set(key, read);
  }

  /** null: no value, or a list, map or bytes. */
  #plainValue(range: Range): AttributeValue | null {
    const reader = new ProtobufReader(this.#body, range);
    let value: AttributeValue | null = null;
    while (reader.next()) {
      if (reader.field === 1) value = cut(reader.text(MAX_TEXT_BYTES, 'the value of an attribute'), MAX_TEXT);
      else if (reader.field === 2) value = reader.value !== 0;
      else if (reader.field === 3) value = reader.int64;
      else if (reader.field === 4) value = reader.double;
      else if (reader.field <= 7) value = null;
    }
    return value;
  }
}

function idOf(reader: ProtobufReader, length: number, name: string): string {
  if (reader.at - reader.value !== length) throw new MalformedExport(`${name} does not have ${length} bytes`);
  return reader.hex;
}
