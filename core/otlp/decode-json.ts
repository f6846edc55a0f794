import { cut, isRecord, own } from '../untrusted/fields.ts';
import {
  EXPORT_LIMITS,
  isNullId,
  MalformedExport,
  MAX_TEXT,
  millisecondsOf,
  type AttributeValue,
  type OtlpSpan,
  type WantedAttributes,
} from './span.ts';

type Json = Record<string, unknown>;

const FROM_UTF8 = new TextDecoder('utf-8', { fatal: true });
/** `STATUS_CODE_ERROR` */
const ERROR = 2;
const MAX_UINT64 = 2n ** 64n - 1n;
const [MIN_INT64, MAX_INT64] = [-(2n ** 63n), 2n ** 63n - 1n];

/**
 * Decodes an ExportTraceServiceRequest in the JSON of OTLP: ids in hexadecimal digits, enums as numbers, 64-bit numbers as
 * strings or numbers. Throws MalformedExport if any part of it is not valid. Unknown members are ignored.
 */
export function decodeJson(body: Uint8Array, wanted: WantedAttributes): OtlpSpan[] {
  const request = objectOf(parsed(body), 'the request');
  const spans: OtlpSpan[] = [];
  for (const resourceSpans of objectsIn(request, 'resourceSpans')) {
    const resource = member(resourceSpans, 'resource');
    if (resource !== undefined) checkAttributes(objectOf(resource, 'resource'), newBudget());
    for (const scopeSpans of objectsIn(resourceSpans, 'scopeSpans')) {
      const scope = member(scopeSpans, 'scope');
      if (scope !== undefined) checkAttributes(objectOf(scope, 'scope'), newBudget());
      for (const span of objectsIn(scopeSpans, 'spans')) {
        if (spans.length === EXPORT_LIMITS.spans)
          throw new MalformedExport(`the request has more than ${EXPORT_LIMITS.spans} spans`);
        spans.push(spanOf(span, wanted));
      }
    }
  }
  return spans;
}

const [OBJECT, LIST, COMMA] = [0x7b, 0x5b, 0x2c] as const;

/** Limits the memory of the parsed value before it is parsed. Characters in strings count as well. */
function checkSize(body: Uint8Array): void {
  let [messages, commas] = [0, 0];
  for (const byte of body)
    if (byte === COMMA) commas += 1;
    else if (byte === OBJECT || byte === LIST) messages += 1;
  if (messages > EXPORT_LIMITS.messages || commas > EXPORT_LIMITS.commas)
    throw new MalformedExport('the JSON has too many objects, lists or members');
}

function parsed(body: Uint8Array): unknown {
  checkSize(body);
  try {
    return JSON.parse(FROM_UTF8.decode(body)) as unknown;
  } catch {
    throw new MalformedExport('the body is not valid JSON in UTF-8');
  }
}

/** The attributes that a span may still have. */
interface Budget {
  attributes: number;
}

const newBudget = (): Budget => ({ attributes: EXPORT_LIMITS.attributes });

function spanOf(span: Json, wanted: WantedAttributes): OtlpSpan {
  const budget = newBudget();
  const traceId = idIn(span, 'traceId', 32);
  const spanId = idIn(span, 'spanId', 16);
  if (isNullId(traceId)) throw new MalformedExport('a span has no traceId');
  if (isNullId(spanId)) throw new MalformedExport('a span has no spanId');
  const status = member(span, 'status');
  const code = status === undefined ? 0 : integerIn(objectOf(status, 'status'), 'code');
  integerIn(span, 'kind');
  for (const name of ['events', 'links'])
    for (const each of objectsIn(span, name)) checkAttributes(each, budget);
  return {
    ...{ traceId, spanId, parentId: idIn(span, 'parentSpanId', 16) },
    name: cut(textIn(span, 'name'), MAX_TEXT),
    startMs: millisecondsIn(span, 'startTimeUnixNano'),
    endMs: millisecondsIn(span, 'endTimeUnixNano'),
    isError: code === ERROR,
    attributes: attributesOf(span, wanted, budget),
  };
}

function attributesOf(holder: Json, wanted: WantedAttributes, budget: Budget): Map<string, AttributeValue> {
  const attributes = new Map<string, AttributeValue>();
  for (const attribute of objectsIn(holder, 'attributes')) {
    const key = textIn(attribute, 'key');
    const value = plainValue(member(attribute, 'value'), budget, 0);
    spend(budget);
    if (value !== null && wanted.has(key) && !attributes.has(key)) attributes.set(key, value);
  }
  return attributes;
}

const NONE: WantedAttributes = new Set();
const checkAttributes = (holder: Json, budget: Budget): unknown => attributesOf(holder, NONE, budget);

function spend(budget: Budget): void {
  budget.attributes -= 1;
  if (budget.attributes < 0)
    throw new MalformedExport(`a span has more than ${EXPORT_LIMITS.attributes} attributes`);
}

/** Checks an AnyValue with everything in it. null: no value, or a list, map or bytes. */
function plainValue(value: unknown, budget: Budget, depth: number): AttributeValue | null {
  if (value === undefined) return null;
  if (depth > EXPORT_LIMITS.depth)
    throw new MalformedExport(`values are nested deeper than ${EXPORT_LIMITS.depth}`);
  const any = objectOf(value, 'the value of an attribute');
  const text = member(any, 'stringValue');
  if (text !== undefined) return cut(textIn(any, 'stringValue'), MAX_TEXT);
  const flag = member(any, 'boolValue');
  if (flag !== undefined) {
    if (typeof flag !== 'boolean') throw new MalformedExport('boolValue is not true or false');
    return flag;
  }
  if (member(any, 'intValue') !== undefined) return int64In(any, 'intValue', MIN_INT64, MAX_INT64);
  if (member(any, 'doubleValue') !== undefined) return doubleIn(any);
  checkNested(any, budget, depth);
  return null;
}

function checkNested(any: Json, budget: Budget, depth: number): void {
  if (member(any, 'bytesValue') !== undefined) textIn(any, 'bytesValue');
  const array = member(any, 'arrayValue');
  if (array !== undefined)
    for (const each of listIn(objectOf(array, 'arrayValue'), 'values')) plainValue(each, budget, depth + 1);
  const map = member(any, 'kvlistValue');
  if (map === undefined) return;
  for (const each of objectsIn(objectOf(map, 'kvlistValue'), 'values')) {
    spend(budget);
    textIn(each, 'key');
    plainValue(member(each, 'value'), budget, depth + 1);
  }
}

/** null stands for the default of a field, as in the JSON of protobuf. */
function member(record: Json, name: string): unknown {
  return own(record, name) ?? undefined;
}

function objectOf(value: unknown, name: string): Json {
  if (!isRecord(value)) throw new MalformedExport(`${name} is not an object`);
  return value;
}

function listIn(record: Json, name: string): readonly unknown[] {
  const value = member(record, name) ?? [];
  if (!Array.isArray(value)) throw new MalformedExport(`${name} is not a list`);
  return value as readonly unknown[];
}

function objectsIn(record: Json, name: string): Json[] {
  return listIn(record, name).map((each) => objectOf(each, `an entry of ${name}`));
}

function textIn(record: Json, name: string): string {
  const value = member(record, name) ?? '';
  if (typeof value !== 'string') throw new MalformedExport(`${name} is not a string`);
  return value;
}

/** An id of this number of hexadecimal digits; empty if it is absent. */
function idIn(record: Json, name: string, digits: number): string {
  const value = textIn(record, name);
  if (value !== '' && (value.length !== digits || !/^[\da-f]+$/i.test(value)))
    throw new MalformedExport(`${name} does not have ${digits} hexadecimal digits`);
  return value.toLowerCase();
}

function integerIn(record: Json, name: string): number {
  const value = member(record, name) ?? 0;
  if (!Number.isSafeInteger(value)) throw new MalformedExport(`${name} is not an integer`);
  return value as number;
}

function int64In(record: Json, name: string, min: bigint, max: bigint): number {
  const value = member(record, name) ?? 0;
  const isText = typeof value === 'string' && /^-?\d{1,20}$/.test(value);
  const isNumber = typeof value === 'number' && Number.isInteger(value);
  const exact = isText || isNumber ? BigInt(value) : null;
  if (exact === null || exact < min || exact > max)
    throw new MalformedExport(`${name} is not a 64-bit integer`);
  return Number(exact);
}

function millisecondsIn(span: Json, name: string): number {
  return millisecondsOf(int64In(span, name, 0n, MAX_UINT64));
}

const SPECIAL: ReadonlyMap<unknown, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
]);

function doubleIn(record: Json): number {
  const value = member(record, 'doubleValue');
  const special = SPECIAL.get(value);
  if (special !== undefined) return special;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || Number.isNaN(number))
    throw new MalformedExport('doubleValue is not a number');
  return number;
}
