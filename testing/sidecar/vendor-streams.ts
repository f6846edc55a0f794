import type { Json, WireName } from '../../core/egress/model-wire.ts';
import { isRecord } from '../../core/untrusted/fields.ts';

/** The protocols with tool calls in their responses. */
export type CallWire = Exclude<WireName, 'embeddings'>;

/** A response of a model. The texts are in front of the calls. */
export interface VendorResponse {
  text: string;
  calls: { name: string; /** JSON text. */ input: string }[];
}

/** Writes responses in one protocol, in the vendor's form. */
export interface Vendor {
  whole: (response: VendorResponse) => Json;
  /** The events of a stream. The text and the arguments are in pieces. */
  stream: (response: VendorResponse) => string[];
  /** What a client reads from the events of a stream, or from a whole response. */
  receive: (events: readonly Json[]) => Received;
}

export interface Received {
  calls: { name: string; input: string }[];
  text: string;
  /** The reason for the end. */
  reason: string | null;
  /** The positions of the calls, or of all parts of the response, in the order of their first events. */
  positions: number[];
}

const MODEL = 'model-1';
const piecesOf = (text: string, size = 7): string[] =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));

export const event = (data: Json | string, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const typed = (data: Json): string => event(data, String(data['type']));

const records = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const at = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), value);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const CHAT_USAGE = {
  ...{ prompt_tokens: 31, completion_tokens: 5, total_tokens: 36 },
  prompt_tokens_details: { cached_tokens: 16 },
  completion_tokens_details: { reasoning_tokens: 2 },
};

const CHAT: Vendor = {
  whole: ({ text: content, calls }) => ({
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: MODEL },
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: content || null,
          ...(calls.length > 0 && {
            tool_calls: calls.map(({ name, input }, index) => ({
              ...{ id: `call_${index}`, type: 'function' },
              function: { name, arguments: input },
            })),
          }),
        },
        finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
      },
    ],
    usage: CHAT_USAGE,
  }),
  stream({ text: content, calls }) {
    const chunk = (delta: object, reason: string | null = null): string =>
      event({
        ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: MODEL },
        choices: [{ index: 0, delta, finish_reason: reason }],
        usage: null,
      });
    const part = (index: number, members: object): string => chunk({ tool_calls: [{ index, ...members }] });
    return [
      chunk({ role: 'assistant', content: content === '' ? null : '' }),
      ...piecesOf(content).map((piece) => chunk({ content: piece })),
      ...calls.flatMap(({ name, input }, index) => [
        part(index, { id: `call_${index}`, type: 'function', function: { name, arguments: '' } }),
        ...piecesOf(input).map((piece) => part(index, { function: { arguments: piece } })),
      ]),
      chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
      event({
        ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: MODEL, choices: [] },
        usage: CHAT_USAGE,
      }),
      event('[DONE]'),
    ];
  },
  receive(events) {
    const received = nothing();
    const byIndex = new Map<unknown, { name: string; input: string }>();
    for (const choice of events.flatMap(({ choices }) => records(choices))) {
      const message = choice['delta'] ?? choice['message'];
      received.text += text(at(message, 'content'));
      received.reason = (choice['finish_reason'] as string | null | undefined) ?? received.reason;
      for (const [place, part] of records(at(message, 'tool_calls')).entries()) {
        const index = part['index'] ?? place;
        const call = byIndex.get(index) ?? started(received, Number(index));
        byIndex.set(index, call);
        call.name += text(at(part, 'function', 'name'));
        call.input += text(at(part, 'function', 'arguments'));
      }
    }
    return received;
  },
};

const nothing = (): Received => ({ calls: [], text: '', reason: null, positions: [] });

function started(received: Received, position: number): { name: string; input: string } {
  const call = { name: '', input: '' };
  received.calls.push(call);
  received.positions.push(position);
  return call;
}

function itemsOf({ text: content, calls }: VendorResponse): Json[] {
  const message = {
    ...{ id: 'msg_1', type: 'message', status: 'completed', role: 'assistant' },
    content: [{ type: 'output_text', text: content, annotations: [] }],
  };
  const items = calls.map(({ name, input }, index) => ({
    ...{ id: `fc_${index}`, type: 'function_call', status: 'completed' },
    ...{ call_id: `call_${index}`, name, arguments: input },
  }));
  return [...(content === '' ? [] : [message]), ...items];
}

const responseOf = (output: readonly Json[], status: string): Json => ({
  ...{ id: 'resp_1', object: 'response', status, model: MODEL, output },
  usage:
    status === 'completed'
      ? {
          ...{ input_tokens: 31, output_tokens: 5, total_tokens: 36 },
          input_tokens_details: { cached_tokens: 16 },
          output_tokens_details: { reasoning_tokens: 2 },
        }
      : null,
});

const RESPONSES: Vendor = {
  whole: (response) => responseOf(itemsOf(response), 'completed'),
  stream(response) {
    let sequence = 0;
    const send = (type: string, members: object): string =>
      event({ type, ...members, sequence_number: sequence++ }, type);
    return [
      send('response.created', { response: responseOf([], 'in_progress') }),
      ...itemsOf(response).flatMap((item, index) => {
        const place = { item_id: item['id'], output_index: index };
        const isCall = item['type'] === 'function_call';
        const empty = isCall ? { arguments: '' } : { content: [] };
        const inside = isCall ? place : { ...place, content_index: 0 };
        const kind = isCall ? 'response.function_call_arguments' : 'response.output_text';
        const whole = isCall ? String(item['arguments']) : response.text;
        return [
          send('response.output_item.added', {
            output_index: index,
            item: { ...item, status: 'in_progress', ...empty },
          }),
          ...piecesOf(whole).map((delta) => send(`${kind}.delta`, { ...inside, delta })),
          send(`${kind}.done`, { ...inside, [isCall ? 'arguments' : 'text']: whole }),
          send('response.output_item.done', { output_index: index, item }),
        ];
      }),
      send('response.completed', { response: responseOf(itemsOf(response), 'completed') }),
    ];
  },
  receive(events) {
    const received = nothing();
    const [first] = events;
    const last = events.findLast(({ type }) => type === 'response.completed');
    const response = last?.['response'] ?? (first?.['object'] === 'response' ? first : undefined);
    for (const item of records(at(response, 'output'))) {
      if (item['type'] === 'message')
        for (const part of records(item['content'])) received.text += text(part['text']);
      else received.calls.push({ name: text(item['name']), input: text(item['arguments']) });
    }
    received.reason = text(at(response, 'status'));
    received.positions = events
      .filter(({ type }) => type === 'response.output_item.added')
      .map((each) => Number(each['output_index']));
    return received;
  },
};

const blocksOf = ({ text: content, calls }: VendorResponse): Json[] => [
  ...(content === '' ? [] : [{ type: 'text', text: content }]),
  ...calls.map(({ name, input }, index) => ({
    ...{ type: 'tool_use', id: `toolu_${index}`, name },
    input: JSON.parse(input) as unknown,
  })),
];

const ANTHROPIC: Vendor = {
  whole: (response) => ({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: MODEL, content: blocksOf(response) },
    stop_reason: response.calls.length > 0 ? 'tool_use' : 'end_turn',
    usage: { ...ANTHROPIC_INPUT, output_tokens: 5 },
  }),
  stream: (response) => [
    typed({
      type: 'message_start',
      message: { id: 'msg_1', model: MODEL, content: [], usage: { ...ANTHROPIC_INPUT, output_tokens: 1 } },
    }),
    ...blocksOf(response).flatMap((block, index) => {
      const isCall = block['type'] === 'tool_use';
      const whole = isCall ? JSON.stringify(block['input']) : response.text;
      const delta = (piece: string): Json =>
        isCall ? { type: 'input_json_delta', partial_json: piece } : { type: 'text_delta', text: piece };
      return [
        typed({
          ...{ type: 'content_block_start', index },
          content_block: { ...block, ...(isCall ? { input: {} } : { text: '' }) },
        }),
        typed({ type: 'ping' }),
        ...piecesOf(whole).map((piece) => typed({ type: 'content_block_delta', index, delta: delta(piece) })),
        typed({ type: 'content_block_stop', index }),
      ];
    }),
    typed({
      type: 'message_delta',
      delta: { stop_reason: response.calls.length > 0 ? 'tool_use' : 'end_turn' },
      usage: { output_tokens: 5 },
    }),
    typed({ type: 'message_stop' }),
  ],
  receive(events) {
    const received = nothing();
    const byIndex = new Map<unknown, { name: string; input: string }>();
    for (const each of events) {
      for (const block of records(each['content'])) {
        received.text += text(block['text']);
        if (block['type'] !== 'tool_use') continue;
        received.calls.push({ name: text(block['name']), input: JSON.stringify(block['input']) });
      }
      if (each['type'] === 'content_block_start') {
        const call = { name: text(at(each, 'content_block', 'name')), input: '' };
        if (at(each, 'content_block', 'type') === 'tool_use') received.calls.push(call);
        received.positions.push(Number(each['index']));
        byIndex.set(each['index'], call);
      }
      received.text += text(at(each, 'delta', 'text'));
      const call = byIndex.get(each['index']);
      if (call !== undefined) call.input += text(at(each, 'delta', 'partial_json'));
      received.reason =
        (at(each, 'delta', 'stop_reason') as string | undefined) ??
        (each['stop_reason'] as string | undefined) ??
        received.reason;
    }
    return received;
  },
};

const ANTHROPIC_INPUT = { input_tokens: 11, cache_creation_input_tokens: 4, cache_read_input_tokens: 16 };

const GEMINI_USAGE = {
  ...{ promptTokenCount: 31, cachedContentTokenCount: 16 },
  ...{ candidatesTokenCount: 3, thoughtsTokenCount: 2, totalTokenCount: 36 },
};

const geminiChunk = (parts: Json[], reason?: string): Json => ({
  candidates: [{ content: { parts, role: 'model' }, ...(reason && { finishReason: reason }), index: 0 }],
  usageMetadata: GEMINI_USAGE,
  modelVersion: MODEL,
});

const callParts = ({ calls }: VendorResponse): Json[] =>
  calls.map(({ name, input }, index) => ({
    functionCall: { name, args: JSON.parse(input) as unknown },
    ...(index === 0 && { thoughtSignature: 'c2ln' }),
  }));

const GEMINI: Vendor = {
  whole: (response) =>
    geminiChunk([...(response.text === '' ? [] : [{ text: response.text }]), ...callParts(response)], 'STOP'),
  stream: (response) => [
    ...piecesOf(response.text).map((piece) => event(geminiChunk([{ text: piece }]))),
    ...callParts(response).map((part) => event(geminiChunk([part]))),
    event(geminiChunk([{ text: '' }], 'STOP')),
  ],
  receive(events) {
    const received = nothing();
    for (const candidate of events.flatMap(({ candidates }) => records(candidates))) {
      received.reason = (candidate['finishReason'] as string | undefined) ?? received.reason;
      for (const part of records(at(candidate, 'content', 'parts'))) {
        received.text += text(part['text']);
        const call = part['functionCall'];
        if (isRecord(call))
          received.calls.push({ name: text(call['name']), input: JSON.stringify(call['args']) });
      }
    }
    return received;
  },
};

const COHERE_USAGE = { billed_units: { input_tokens: 1 }, tokens: { input_tokens: 31, output_tokens: 5 } };
const cohereReason = ({ calls }: VendorResponse): string => (calls.length > 0 ? 'TOOL_CALL' : 'COMPLETE');
const cohereCalls = ({ calls }: VendorResponse): Json[] =>
  calls.map(({ name, input }, index) => ({
    ...{ id: `${name}_${index}`, type: 'function' },
    function: { name, arguments: input },
  }));

const COHERE: Vendor = {
  whole: (response) => ({
    id: 'c-1',
    finish_reason: cohereReason(response),
    message: {
      role: 'assistant',
      ...(response.calls.length > 0 && {
        tool_plan: 'I will call tools.',
        tool_calls: cohereCalls(response),
      }),
      content: response.text === '' ? [] : [{ type: 'text', text: response.text }],
    },
    usage: COHERE_USAGE,
  }),
  stream: (response) => {
    const send = (type: string, index: number | null, message: Json | null): string =>
      typed({ type, ...(index !== null && { index }), ...(message && { delta: { message } }) });
    return [
      typed({ type: 'message-start', id: 'c-1', delta: { message: { role: 'assistant' } } }),
      ...(response.text === ''
        ? []
        : [
            send('content-start', 0, { content: { type: 'text', text: '' } }),
            ...piecesOf(response.text).map((piece) => send('content-delta', 0, { content: { text: piece } })),
            send('content-end', 0, null),
          ]),
      ...cohereCalls(response).flatMap((call, index) => {
        const { name, input } = response.calls[index]!;
        const begin = { ...call, function: { name, arguments: '' } };
        return [
          send('tool-call-start', index, { tool_calls: begin }),
          ...piecesOf(input).map((piece) =>
            send('tool-call-delta', index, { tool_calls: { function: { arguments: piece } } }),
          ),
          send('tool-call-end', index, null),
        ];
      }),
      typed({ type: 'message-end', delta: { finish_reason: cohereReason(response), usage: COHERE_USAGE } }),
    ];
  },
  receive(events) {
    const received = nothing();
    const byIndex = new Map<unknown, { name: string; input: string }>();
    for (const each of events) {
      const message = at(each, 'delta', 'message') ?? each['message'];
      const content = at(message, 'content');
      for (const part of Array.isArray(content) ? records(content) : [content])
        received.text += text(at(part, 'text'));
      for (const call of records(at(message, 'tool_calls')))
        received.calls.push({
          name: text(at(call, 'function', 'name')),
          input: text(at(call, 'function', 'arguments')),
        });
      if (each['type'] === 'tool-call-start') {
        const call = started(received, Number(each['index']));
        call.name = text(at(message, 'tool_calls', 'function', 'name'));
        byIndex.set(each['index'], call);
      }
      const call = each['type'] === 'tool-call-delta' ? byIndex.get(each['index']) : undefined;
      if (call !== undefined) call.input += text(at(message, 'tool_calls', 'function', 'arguments'));
      received.reason =
        ((at(each, 'delta', 'finish_reason') ?? each['finish_reason']) as string | undefined) ??
        received.reason;
    }
    return received;
  },
};

const OLLAMA_END = { done: true, done_reason: 'stop', prompt_eval_count: 31, eval_count: 5 };
const ollamaCalls = ({ calls }: VendorResponse): Json[] =>
  calls.map(({ name, input }, index) => ({
    function: { index, name, arguments: JSON.parse(input) as unknown },
  }));
const line = (message: Json, members: Json = { done: false }): string =>
  `${JSON.stringify({ model: MODEL, created_at: '2026-01-01T00:00:00Z', message, ...members })}\n`;

const OLLAMA: Vendor = {
  whole: (response) => ({
    ...{ model: MODEL, created_at: '2026-01-01T00:00:00Z' },
    message: {
      ...{ role: 'assistant', content: response.text },
      ...(response.calls.length > 0 && { tool_calls: ollamaCalls(response) }),
    },
    ...OLLAMA_END,
  }),
  stream: (response) => [
    ...piecesOf(response.text).map((content) => line({ role: 'assistant', content })),
    ...ollamaCalls(response).map((call) => line({ role: 'assistant', content: '', tool_calls: [call] })),
    line({ role: 'assistant', content: '' }, OLLAMA_END),
  ],
  receive(events) {
    const received = nothing();
    for (const each of events) {
      received.text += text(at(each, 'message', 'content'));
      received.reason = (each['done_reason'] as string | undefined) ?? received.reason;
      for (const call of records(at(each, 'message', 'tool_calls'))) {
        received.calls.push({
          name: text(at(call, 'function', 'name')),
          input: JSON.stringify(at(call, 'function', 'arguments')),
        });
        received.positions.push(Number(at(call, 'function', 'index')));
      }
    }
    return received;
  },
};

export const VENDORS: Readonly<Record<CallWire, Vendor>> = {
  chat: CHAT,
  responses: RESPONSES,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
  cohere: COHERE,
  ollama: OLLAMA,
};
