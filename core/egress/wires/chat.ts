import { isRecord, own } from '../../untrusted/fields.ts';
import type { Json, JudgeCall, ModelResponse, ModelRequest, ModelWire } from '../model-wire.ts';
import { JudgedCalls, type JudgedCall } from './judged-calls.ts';
import { callIn, contentWith, definitionOf, reasonWithoutCalls, toolResultsOf } from './chat-messages.ts';
import { ChatEditor } from './chat-stream.ts';
import { distinct, limitAt, listAt, nameAt, recordAt, recordsAt, stringAt, without } from './members.ts';
import { usageOf } from './model-usage.ts';
import { createStreamFilter } from './stream-filter.ts';
import { OPENAI_ERRORS } from './vendor-errors.ts';

/** OpenAI's chat completions, and the vendors that are compatible. */
export const CHAT: ModelWire = {
  name: 'chat',
  readRequest,
  prepare,
  readResponse: (body) => read(body, () => 'pass').response,
  strip,
  createFilter: (options) => createStreamFilter(new ChatEditor(options)),
  ...OPENAI_ERRORS,
};

function readRequest(body: Json, route: { model: string | null; isStream: boolean }): ModelRequest {
  const messages = recordsAt(body, 'messages');
  return {
    model: route.model ?? nameAt(body, 'model'),
    isStream: route.isStream || own(body, 'stream') === true,
    ...toolsOf(body),
    toolResults: toolResultsOf(messages),
    maxOutputTokens: limitAt(body, 'max_completion_tokens', 'max_tokens'),
    isStateful: false,
  };
}

function toolsOf(body: Json): Pick<ModelRequest, 'toolsOffered' | 'vendorTools'> {
  const offered: (string | null)[] = recordsAt(body, 'functions').map((tool) => nameAt(tool, 'name'));
  const vendor: (string | null)[] = [];
  for (const toolsAt of VENDOR_MEMBERS) for (const tool of toolsAt(body)) vendor.push(tool);
  for (const tool of recordsAt(body, 'tools')) {
    const definition = definitionOf(tool);
    if (definition !== null) offered.push(nameAt(definition, 'name'));
    else vendor.push(vendorToolOf(tool));
  }
  return { toolsOffered: distinct(offered), vendorTools: distinct(vendor) };
}

/** Tools of Groq and Mistral are entries of `tools` with a type only. */
function vendorToolOf(tool: Json): string | null {
  const type = nameAt(tool, 'type');
  return type === 'mcp' ? `mcp:${nameAt(tool, 'server_label') ?? ''}` : type;
}

const NONE: readonly string[] = [];

/** Members of a request, other than `tools`, that make a vendor run tools. */
const VENDOR_MEMBERS: readonly ((body: Json) => readonly (string | null)[])[] = [
  // OpenAI's search models.
  (body) => (recordAt(body, 'web_search_options') === null ? NONE : ['web_search']),
  // xAI.
  (body) => {
    const search = recordAt(body, 'search_parameters');
    return search === null || stringAt(search, 'mode') === 'off' ? NONE : ['web_search'];
  },
  // OpenRouter.
  (body) => recordsAt(body, 'plugins').map((plugin) => nameAt(plugin, 'id')),
  // Azure.
  (body) => recordsAt(body, 'data_sources').map((source) => nameAt(source, 'type')),
  // Groq's compound models.
  (body) =>
    (listAt(recordAt(recordAt(body, 'compound_custom'), 'tools'), 'enabled_tools') ?? NONE).filter(
      (name) => typeof name === 'string',
    ),
];

/** A stream has usage only on request. */
function prepare(body: Json): Json | null {
  const options = own(body, 'stream_options') ?? {};
  if (own(body, 'stream') !== true || !isRecord(options)) return null;
  if (own(options, 'include_usage') === true) return null;
  return { ...body, stream_options: { ...options, include_usage: true } };
}

function judged(calls: JudgedCalls, entry: unknown): JudgedCall | null {
  const part = callIn(entry);
  return part === null ? null : calls.whole(part);
}

interface ReadChoice {
  /** The new choice; the same object: unchanged. */
  choice: unknown;
  isFinished: boolean;
}

function read(
  body: Json,
  judge: JudgeCall,
  message = '',
): { response: ModelResponse; calls: JudgedCalls; choices: ReadChoice[] } {
  const calls = new JudgedCalls(judge);
  const choices = (listAt(body, 'choices') ?? []).map((choice): ReadChoice => {
    if (!isRecord(choice)) return { choice, isFinished: true };
    return {
      choice: stripChoice(choice, calls, message),
      isFinished: stringAt(choice, 'finish_reason') !== null,
    };
  });
  const response: ModelResponse = {
    model: nameAt(body, 'model'),
    toolCalls: calls.facts,
    usage: usageOf('chat', body),
    isComplete: choices.length > 0 && choices.every(({ isFinished }) => isFinished),
  };
  return { response, calls, choices };
}

function strip(body: Json, judge: JudgeCall, message: string): ReturnType<ModelWire['strip']> {
  const { calls, choices } = read(body, judge, message);
  if (calls.removed.length === 0) return null;
  return { ...body, choices: choices.map(({ choice }) => choice) };
}

function stripChoice(choice: Json, calls: JudgedCalls, text: string): Json {
  const message = recordAt(choice, 'message');
  const entries = listAt(message, 'tool_calls') ?? [];
  const legacy = recordAt(message, 'function_call');
  const decisions = entries.map((entry) => judged(calls, entry)?.decision ?? 'pass');
  const ofLegacy = legacy === null ? null : judged(calls, legacy);
  if (message === null || (!decisions.includes('remove') && ofLegacy?.decision !== 'remove')) return choice;
  const kept = entries.filter((_, index) => decisions[index] === 'pass');
  const others = without(without(message, 'tool_calls'), 'function_call');
  const isLegacyLeft = ofLegacy?.decision === 'pass';
  if (kept.length === 0 && !isLegacyLeft)
    return {
      ...choice,
      message: { ...others, content: contentWith(own(message, 'content'), text) },
      finish_reason: reasonWithoutCalls(own(choice, 'finish_reason')),
    };
  return {
    ...choice,
    message: {
      ...others,
      ...(kept.length > 0 && { tool_calls: kept }),
      ...(isLegacyLeft && { function_call: legacy }),
    },
  };
}
