import { isRecord, own } from '../untrusted/fields.ts';

type Kind = 'text' | 'list' | 'record' | 'flag';

/** The members that every complete response of a protocol has, also one without usage. */
interface Shape {
  fixed?: Readonly<Record<string, string>>;
  members: Readonly<Record<string, Kind>>;
}

const SHAPES: readonly Shape[] = [
  // OpenAI chat completions, whole and streamed, and completions
  ...['chat.completion', 'chat.completion.chunk', 'text_completion'].map((kind): Shape => ({
    fixed: { object: kind },
    members: { id: 'text', model: 'text', choices: 'list' },
  })),
  // OpenAI Responses
  { fixed: { object: 'response' }, members: { id: 'text', model: 'text', status: 'text', output: 'list' } },
  // OpenAI embeddings
  { fixed: { object: 'list' }, members: { model: 'text', data: 'list', usage: 'record' } },
  // Anthropic messages
  { fixed: { type: 'message', role: 'assistant' }, members: { id: 'text', model: 'text', content: 'list' } },
  // Gemini
  { members: { candidates: 'list', modelVersion: 'text' } },
  // Ollama chat, and generate
  { members: { model: 'text', created_at: 'text', message: 'record', done: 'flag' } },
  { members: { model: 'text', created_at: 'text', response: 'text', done: 'flag' } },
  // Cohere chat
  { members: { id: 'text', message: 'record', finish_reason: 'text', usage: 'record' } },
  // Bedrock Converse
  { members: { output: 'record', stopReason: 'text', usage: 'record', metrics: 'record' } },
];

const ENTRIES = SHAPES.map(({ fixed = {}, members }) => ({
  fixed: Object.entries(fixed),
  members: Object.entries(members),
}));

const IS_KIND: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string' && value !== '',
  list: Array.isArray,
  record: isRecord,
  flag: (value) => typeof value === 'boolean',
};

/** Whether a JSON value has all members of a model's response. Other values with `usage` can come from anywhere. */
export function isWholeResponse(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  return ENTRIES.some(
    ({ fixed, members }) =>
      fixed.every(([name, text]) => own(value, name) === text) &&
      members.every(([name, kind]) => IS_KIND[kind](own(value, name))),
  );
}

/** The response in an event that wraps one: of the Responses API, or the start of an Anthropic message. */
function responseIn(value: unknown): unknown {
  const type = isRecord(value) ? own(value, 'type') : undefined;
  if (!isRecord(value) || typeof type !== 'string') return value;
  if (type.startsWith('response.')) return own(value, 'response');
  return type === 'message_start' ? own(value, 'message') : value;
}

/**
 * Decides which documents or events of one response are read: only whole responses.
 * @param id the id that they must have; null: any
 */
export function wholeResponses(id: string | null): (value: unknown) => boolean {
  let hasMessage = false;
  return (value) => {
    const response = responseIn(value);
    const isWhole = isWholeResponse(response) && (id === null || own(response, 'id') === id);
    if (isWhole && response !== value) hasMessage = true;
    // The last usage of an Anthropic message is in an event without its other members.
    return isWhole || (hasMessage && isRecord(value) && own(value, 'type') === 'message_delta');
  };
}
