import { formatOfStart } from '../../core/egress/response-format.ts';
import type { Frame } from '../../core/egress/model-wire.ts';
import { createLineFrames, createSseFrames } from '../../core/egress/sse-frames.ts';
import { readJson } from '../../core/egress/wires/exact-json.ts';
import { isRecord } from '../../core/untrusted/fields.ts';
import type { JsonBody } from './json-body.ts';

/** The frames of a body that is not one document but a whole stream; null: it is none. Lines of JSON begin like a document. */
export function framesInBody({
  bytes,
  text,
}: JsonBody): { format: 'sse' | 'ndjson'; frames: readonly Frame[] } | null {
  const [firstLine = ''] = text.split('\n', 1);
  const isEvents = formatOfStart(bytes) === 'sse';
  if (!isEvents && !isRecord(readJson(firstLine))) return null;
  const splitter = (isEvents ? createSseFrames : createLineFrames)();
  return { format: isEvents ? 'sse' : 'ndjson', frames: [...splitter.push(bytes), ...splitter.end()] };
}
