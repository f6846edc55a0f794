/** A span of a test in the JSON of OTLP. */
export interface TestSpan {
  traceId?: string;
  spanId: string;
  parentSpanId?: string;
  name?: string;
  /** Milliseconds since 1970. */
  startMs?: number;
  endMs?: number;
  isError?: boolean;
  attributes?: Record<string, string | number | boolean>;
}

export const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

/** An id of 16 hexadecimal digits from a number. */
export const spanIdOf = (index: number): string => index.toString(16).padStart(16, '0');

const nanoseconds = (ms: number): bigint => BigInt(Math.round(ms)) * 1_000_000n;

/** The spans as ExportTraceServiceRequest in JSON. */
export function jsonExport(spans: readonly TestSpan[]): string {
  const valueOf = (value: string | number | boolean): object => {
    if (typeof value === 'string') return { stringValue: value };
    if (typeof value === 'boolean') return { boolValue: value };
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  };
  const written = spans.map((span) => ({
    ...{ traceId: span.traceId ?? TRACE_ID, spanId: span.spanId, parentSpanId: span.parentSpanId ?? '' },
    ...{ name: span.name ?? 'span', kind: 1 },
    startTimeUnixNano: String(nanoseconds(span.startMs ?? 0)),
    endTimeUnixNano: String(nanoseconds(span.endMs ?? 0)),
    attributes: Object.entries(span.attributes ?? {}).map(([key, value]) => ({ key, value: valueOf(value) })),
    status: { code: span.isError === true ? 2 : 0 },
  }));
  return JSON.stringify({ resourceSpans: [{ resource: {}, scopeSpans: [{ scope: {}, spans: written }] }] });
}

/** Writes the fields of protobuf messages. */
export const wire = {
  varint(field: number, value: number | bigint): Buffer {
    return Buffer.concat([digits(BigInt(field) * 8n), digits(BigInt.asUintN(64, BigInt(value)))]);
  },
  fixed64(field: number, value: bigint): Buffer {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value);
    return Buffer.concat([digits(BigInt(field) * 8n + 1n), bytes]);
  },
  double(field: number, value: number): Buffer {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    return Buffer.concat([digits(BigInt(field) * 8n + 1n), bytes]);
  },
  bytes(field: number, value: Uint8Array | string): Buffer {
    const bytes = Buffer.from(value as string);
    return Buffer.concat([digits(BigInt(field) * 8n + 2n), digits(BigInt(bytes.length)), bytes]);
  },
  message(field: number, ...parts: readonly Buffer[]): Buffer {
    return this.bytes(field, Buffer.concat(parts));
  },
};

function digits(value: bigint): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    if (rest < 0x80n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 0x7fn) | 0x80);
  }
}

/** An attribute in protobuf. */
export function attribute(field: number, key: string, value: string | number | boolean): Buffer {
  const written =
    typeof value === 'string'
      ? wire.bytes(1, value)
      : typeof value === 'boolean'
        ? wire.varint(2, value ? 1 : 0)
        : Number.isInteger(value)
          ? wire.varint(3, value)
          : wire.double(4, value);
  return wire.message(field, wire.bytes(1, key), wire.message(2, written));
}

/** The fields of one span in protobuf. */
export function spanFields(span: TestSpan): Buffer[] {
  return [
    wire.bytes(1, Buffer.from(span.traceId ?? TRACE_ID, 'hex')),
    wire.bytes(2, Buffer.from(span.spanId, 'hex')),
    wire.bytes(4, Buffer.from(span.parentSpanId ?? '', 'hex')),
    wire.bytes(5, span.name ?? 'span'),
    wire.varint(6, 1),
    wire.fixed64(7, nanoseconds(span.startMs ?? 0)),
    wire.fixed64(8, nanoseconds(span.endMs ?? 0)),
    ...Object.entries(span.attributes ?? {}).map(([key, value]) => attribute(9, key, value)),
    wire.message(15, wire.varint(3, span.isError === true ? 2 : 0)),
  ];
}

/** An ExportTraceServiceRequest in protobuf with these fields of spans. */
export function exportOf(...spans: readonly (readonly Buffer[])[]): Buffer {
  const messages = spans.map((fields) => wire.message(2, ...fields));
  return wire.message(
    1,
    wire.message(1),
    wire.message(2, wire.message(1, wire.bytes(1, 'test')), ...messages),
  );
}

/** The spans as ExportTraceServiceRequest in protobuf. */
export const protobufExport = (spans: readonly TestSpan[]): Buffer => exportOf(...spans.map(spanFields));
