import type { FilterOptions, Frame, Json, ModelResponse, ModelWire, ToolCall } from '../model-wire.ts';
import { isRecord } from '../../untrusted/fields.ts';
import { exactJson, readJson } from './exact-json.ts';
import { jsonText } from './members.ts';

/**
 * A response that is a JSON list of a stream's events: Gemini's streams without `alt=sse`. `body`: the list without the calls
 * for which the judge is not `pass`; null: none is removed. Entries that are not objects stay.
 */
export function filterList(
  wire: ModelWire,
  list: readonly unknown[],
  options: FilterOptions,
): { body: unknown[] | null; response: ModelResponse; removed: readonly ToolCall[] } {
  const filter = wire.createFilter(options);
  const entries = new Map<Frame, unknown>();
  const frames = list.map((entry) => {
    const frame: Frame = { raw: LINE, event: null, data: jsonText(entry) };
    entries.set(frame, entry);
    return frame;
  });
  const sent = [...frames.flatMap((frame) => filter.push(frame)), ...filter.end()];
  const { response, removed } = filter;
  const body = sent.map((frame) => (entries.has(frame) ? entries.get(frame) : written(frame)));
  return { body: removed.length === 0 ? null : body, response, removed };
}

const written = ({ data }: Frame): unknown => (data === null ? null : exactJson(readJson(data), data));

/** Changed frames have the form of this one. */
const LINE = Buffer.from('{}\n');

/** Reads a response that is one document, or the list of its pieces. */
export function responseIn(wire: ModelWire, body: Json | readonly unknown[]): ModelResponse {
  return isRecord(body)
    ? wire.readResponse(body)
    : filterList(wire, body, { judge: () => 'pass', message: '', removeUsage: false }).response;
}
