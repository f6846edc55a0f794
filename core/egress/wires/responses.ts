import { own } from '../../untrusted/fields.ts';
import type { Json, ModelRequest, ModelWire } from '../model-wire.ts';
import { addedMessages, argumentsOf, limitAt, nameAt, recordsAt, stringAt } from './members.ts';
import { callIn, messageItem, nameOfClientTool, outputOf } from './responses-items.ts';
import { ResponsesEditor } from './responses-stream.ts';
import { createStreamFilter } from './stream-filter.ts';
import { RESPONSES_ERRORS } from './vendor-errors.ts';
import { wholeResponse } from './whole-response.ts';

/** OpenAI's Responses. */
export const RESPONSES: ModelWire = {
  name: 'responses',
  readRequest,
  createFilter: (options) => createStreamFilter(new ResponsesEditor(options)),
  ...wholeResponse('responses', {
    entriesOf: outputOf,
    callIn(item) {
      const call = callIn(item);
      return call === null ? null : { ...call, arguments: argumentsOf(call.arguments) };
    },
    isComplete: (body) => ['completed', 'incomplete'].includes(stringAt(body, 'status') ?? ''),
    withEntries: (body, kept, message) => ({
      ...body,
      output: message === null ? kept : [...kept, messageItem(body, message)],
    }),
  }),
  ...RESPONSES_ERRORS,
};

function readRequest(body: Json, route: { model: string | null; isStream: boolean }): ModelRequest {
  const tools = { offered: new Set<string>(), vendor: new Set<string>() };
  addTools(recordsAt(body, 'tools'), tools, 0);
  return {
    model: route.model ?? nameAt(body, 'model'),
    isStream: route.isStream || own(body, 'stream') === true,
    toolsOffered: [...tools.offered],
    vendorTools: [...tools.vendor],
    toolResults: toolResultsOf(recordsAt(body, 'input')),
    maxOutputTokens: limitAt(body, 'max_output_tokens'),
    isStateful: ['previous_response_id', 'conversation'].some((name) => (own(body, name) ?? null) !== null),
  };
}

/** Namespaces contain tools. */
const MAX_DEPTH = 4;

function addTools(
  tools: readonly Json[],
  found: { offered: Set<string>; vendor: Set<string> },
  depth: number,
): void {
  for (const tool of tools) {
    const type = nameAt(tool, 'type') ?? 'function';
    const name = type === 'function' || type === 'custom' ? nameAt(tool, 'name') : nameOfClientTool(type);
    if (type === 'namespace' && depth < MAX_DEPTH) addTools(recordsAt(tool, 'tools'), found, depth + 1);
    else if (name !== null) found.offered.add(name);
    else if (type === 'mcp') found.vendor.add(`mcp:${nameAt(tool, 'server_label') ?? ''}`);
    else if (type !== 'function' && type !== 'custom') found.vendor.add(type);
  }
}

function toolResultsOf(input: readonly Json[]): ModelRequest['toolResults'] {
  const results = addedMessages(input, isOfModel).filter(isOutput);
  if (results.length === 0) return [];
  const names = new Map(callsIn(input));
  return results.map((result) => {
    const callId = nameAt(result, 'call_id') ?? nameAt(result, 'id');
    return { callId, name: callId === null ? null : (names.get(callId) ?? null) };
  });
}

function callsIn(input: readonly Json[]): [string | null, string | null][] {
  return input.flatMap((item) => {
    const call = callIn(item);
    return call === null ? [] : [[call.id, call.name]];
  });
}

const isOutput = (item: Json): boolean => (stringAt(item, 'type') ?? '').endsWith('_call_output');

/** Items without a role are the model's, except those that the agent sends. */
function isOfModel(item: Json): boolean {
  const role = stringAt(item, 'role');
  if (role !== null) return role === 'assistant';
  return !isOutput(item) && stringAt(item, 'type') !== 'mcp_approval_response';
}
