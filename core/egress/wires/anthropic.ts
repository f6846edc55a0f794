import { isRecord, own } from '../../untrusted/fields.ts';
import type { Json, ModelRequest, ModelWire } from '../model-wire.ts';
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
import { createStreamFilter } from './stream-filter.ts';
import { ANTHROPIC_ERRORS } from './vendor-errors.ts';
import { wholeResponse } from './whole-response.ts';

/** Anthropic's messages, also in Vertex. */
export const ANTHROPIC: ModelWire = {
  name: 'anthropic',
  readRequest,
  createFilter: (options) => createStreamFilter(new AnthropicEditor(options)),
  ...wholeResponse('anthropic', {
    entriesOf: (body) => listAt(body, 'content') ?? [],
    callIn(block) {
      if (!isRecord(block) || stringAt(block, 'type') !== 'tool_use') return null;
      const text = argumentsOf(own(block, 'input'));
      return { id: nameAt(block, 'id'), name: nameAt(block, 'name'), arguments: text };
    },
    isComplete: (body) => stringAt(body, 'stop_reason') !== null,
    withEntries(body, content, message) {
      if (message === null) return { ...body, content };
      const text = { type: 'text', text: message };
      const reason = reasonWithoutCalls(own(body, 'stop_reason'));
      return { ...body, content: [...content, text], stop_reason: reason };
    },
  }),
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
