import { isRecord, own } from '../../untrusted/fields.ts';
import type { Json, JudgeCall, ModelResponse, ModelRequest, ModelWire } from '../model-wire.ts';
import { JudgedCalls, isNoneLeft } from './judged-calls.ts';
import { AnthropicEditor, reasonWithoutCalls } from './anthropic-stream.ts';
import {
  addedMessages,
  argumentsOf,
  distinct,
  limitAt,
  listAt,
  nameAt,
  recordsAt,
  stringAt,
} from './members.ts';
import { usageOf } from './model-usage.ts';
import { createStreamFilter } from './stream-filter.ts';
import { ANTHROPIC_ERRORS } from './vendor-errors.ts';

/** Anthropic's messages, also in Vertex. */
export const ANTHROPIC: ModelWire = {
  name: 'anthropic',
  readRequest,
  prepare: () => null,
  readResponse: (body) => read(body, () => 'pass').response,
  strip,
  createFilter: ({ judge, message }) =>
    createStreamFilter(new AnthropicEditor(new JudgedCalls(judge), message)),
  ...ANTHROPIC_ERRORS,
};

function readRequest(body: Json, route: { model: string | null; isStream: boolean }): ModelRequest {
  const offered: (string | null)[] = [];
  const vendor = recordsAt(body, 'mcp_servers').map(mcpServerOf);
  for (const tool of recordsAt(body, 'tools')) {
    const type = stringAt(tool, 'type') ?? '';
    if (type === 'mcp_toolset') vendor.push(`mcp:${nameAt(tool, 'mcp_server_name') ?? ''}`);
    else if (VENDOR_TOOL.test(type)) vendor.push(nameAt(tool, 'name') ?? nameAt(tool, 'type'));
    else offered.push(nameAt(tool, 'name'));
  }
  return {
    model: route.model ?? nameAt(body, 'model'),
    isStream: route.isStream || own(body, 'stream') === true,
    toolsOffered: distinct(offered),
    vendorTools: distinct(vendor),
    toolResults: toolResultsOf(recordsAt(body, 'messages')),
    maxOutputTokens: limitAt(body, 'max_tokens', 'max_tokens_to_sample'),
    isStateful: false,
  };
}

/** Types end in a date. The other types with a date, such as `bash_20250124`, are tools that the agent runs. */
const VENDOR_TOOL = /^(?:web_search|web_fetch|code_execution|tool_search_tool)/;

const mcpServerOf = (server: Json): string | null => `mcp:${nameAt(server, 'name') ?? ''}`;

function toolResultsOf(messages: readonly Json[]): ModelRequest['toolResults'] {
  const added = addedMessages(messages, (message) => stringAt(message, 'role') === 'assistant');
  const results = added.flatMap((message) => blocksOf(message, 'tool_result'));
  if (results.length === 0) return [];
  const calls = messages.flatMap((message) => blocksOf(message, 'tool_use'));
  const names = new Map(calls.map((call) => [nameAt(call, 'id'), nameAt(call, 'name')]));
  return results.map((result) => {
    const callId = nameAt(result, 'tool_use_id');
    return { callId, name: callId === null ? null : (names.get(callId) ?? null) };
  });
}

const blocksOf = (message: Json, type: string): readonly Json[] =>
  recordsAt(message, 'content').filter((block) => stringAt(block, 'type') === type);

function read(
  body: Json,
  judge: JudgeCall,
): { response: ModelResponse; calls: JudgedCalls; content: unknown[]; isNoneLeft: boolean } {
  const calls = new JudgedCalls(judge);
  const blocks = listAt(body, 'content') ?? [];
  const judged = blocks.map((block) => {
    if (!isRecord(block) || stringAt(block, 'type') !== 'tool_use') return null;
    const text = argumentsOf(own(block, 'input'));
    return calls.whole({ id: nameAt(block, 'id'), name: nameAt(block, 'name'), arguments: text });
  });
  return {
    response: {
      model: nameAt(body, 'model'),
      toolCalls: calls.facts,
      usage: usageOf('anthropic', body),
      isComplete: stringAt(body, 'stop_reason') !== null,
    },
    calls,
    content: blocks.filter((_, index) => judged[index]?.decision !== 'remove'),
    isNoneLeft: isNoneLeft(judged.filter((call) => call !== null)),
  };
}

function strip(body: Json, judge: JudgeCall, message: string): ReturnType<ModelWire['strip']> {
  const { calls, content, isNoneLeft: isReplaced } = read(body, judge);
  const { removed } = calls;
  if (removed.length === 0) return null;
  if (!isReplaced) return { body: { ...body, content }, removed };
  const text = { type: 'text', text: message };
  const reason = reasonWithoutCalls(own(body, 'stop_reason'));
  return { body: { ...body, content: [...content, text], stop_reason: reason }, removed };
}
