import type { Json, JudgeCall, ModelWire, WireName } from '../model-wire.ts';
import { isNoneLeft, JudgedCalls, type CallPart, type JudgedCall } from './judged-calls.ts';
import { nameAt } from './members.ts';
import { usageOf } from './model-usage.ts';

/** How a protocol writes a response that is one document with one list of calls. */
export interface WholeForm {
  /** The list, with entries of any kind. */
  entriesOf: (body: Json) => readonly unknown[];
  /** null: the entry is not a call. */
  callIn: (entry: unknown) => CallPart | null;
  isComplete: (body: Json) => boolean;
  /** The body with these entries. `message`: the text in place of the removed calls; null: a call is left. */
  withEntries: (body: Json, kept: readonly unknown[], message: string | null) => Json;
}

/** Reads whole responses of a protocol, and removes calls from them. */
export function wholeResponse(
  name: WireName,
  { entriesOf, callIn, isComplete, withEntries }: WholeForm,
): Pick<ModelWire, 'readResponse' | 'strip'> {
  const read = (entries: readonly unknown[], judge: JudgeCall) => {
    const calls = new JudgedCalls(judge);
    const judged = entries.map((entry): JudgedCall | null => {
      const part = callIn(entry);
      return part === null ? null : calls.whole(part);
    });
    return { calls, judged };
  };
  return {
    readResponse: (body) => ({
      model: nameAt(body, 'model'),
      toolCalls: read(entriesOf(body), () => 'pass').calls.facts,
      usage: usageOf(name, body),
      isComplete: isComplete(body),
    }),
    strip(body, judge, message) {
      const entries = entriesOf(body);
      const { calls, judged } = read(entries, judge);
      if (calls.removed.length === 0) return null;
      const kept = entries.filter((_, index) => judged[index]?.decision !== 'remove');
      const isReplaced = isNoneLeft(judged.filter((call) => call !== null));
      return withEntries(body, kept, isReplaced ? message : null);
    },
  };
}
