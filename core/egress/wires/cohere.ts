import { isRecord, own } from '../../untrusted/fields.ts';
import type { Json, JudgeCall, ModelResponse, ModelRequest, ModelWire } from '../model-wire.ts';
import { JudgedCalls, isNoneLeft } from './judged-calls.ts';
import { callIn, contentWith, toolResultsOf } from './chat-messages.ts';
import { CohereEditor, reasonWithoutCalls } from './cohere-stream.ts';
import { distinct, limitAt, listAt, nameAt, recordAt, recordsAt, stringAt, without } from './members.ts';
import { usageOf } from './model-usage.ts';
import { createStreamFilter } from './stream-filter.ts';
import { COHERE_ERRORS } from './vendor-errors.ts';

/** Cohere's chat, version 2. */
export const COHERE: ModelWire = {
  name: 'cohere',
  readRequest,
  prepare: () => null,
  readResponse: (body) => read(body, () => 'pass').response,
  strip,
  createFilter: ({ judge, message }) => createStreamFilter(new CohereEditor(new JudgedCalls(judge), message)),
  ...COHERE_ERRORS,
};

function readRequest(body: Json, route: { model: string | null; isStream: boolean }): ModelRequest {
  const tools = recordsAt(body, 'tools');
  return {
    model: route.model ?? nameAt(body, 'model'),
    isStream: route.isStream || own(body, 'stream') === true,
    toolsOffered: distinct(tools.map((tool) => nameAt(recordAt(tool, 'function') ?? tool, 'name'))),
    // Version 1 had connectors.
    vendorTools: distinct(recordsAt(body, 'connectors').map((connector) => nameAt(connector, 'id'))),
    toolResults: toolResultsOf(recordsAt(body, 'messages')),
    maxOutputTokens: limitAt(body, 'max_tokens'),
    isStateful: false,
  };
}

function read(
  body: Json,
  judge: JudgeCall,
): { response: ModelResponse; calls: JudgedCalls; kept: unknown[]; isNoneLeft: boolean } {
  const calls = new JudgedCalls(judge);
  const entries = listAt(recordAt(body, 'message'), 'tool_calls') ?? [];
  const judged = entries.map((entry) => {
    const part = isRecord(entry) ? callIn(entry) : null;
    return part === null ? null : calls.whole(part);
  });
  return {
    response: {
      model: nameAt(body, 'model'),
      toolCalls: calls.facts,
      usage: usageOf('cohere', body),
      isComplete: stringAt(body, 'finish_reason') !== null,
    },
    calls,
    kept: entries.filter((_, index) => judged[index]?.decision !== 'remove'),
    isNoneLeft: isNoneLeft(judged.filter((call) => call !== null)),
  };
}

function strip(body: Json, judge: JudgeCall, text: string): ReturnType<ModelWire['strip']> {
  const { calls, kept, isNoneLeft: isReplaced } = read(body, judge);
  const { removed } = calls;
  const message = recordAt(body, 'message');
  if (removed.length === 0 || message === null) return null;
  if (!isReplaced) return { body: { ...body, message: { ...message, tool_calls: kept } }, removed };
  const content = contentWith(own(message, 'content') ?? [], text);
  return {
    body: {
      ...body,
      message: { ...without(message, 'tool_calls'), content },
      finish_reason: reasonWithoutCalls(own(body, 'finish_reason')),
    },
    removed,
  };
}
