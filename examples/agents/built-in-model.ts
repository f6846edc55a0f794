import type { ChatModel, Completion, Message, ToolCall, ToolOffer } from './model.ts';

/**
 * A deterministic model without network: the same messages always produce the same response and token counts. It calls
 * tools, so that tools, guardrails and usage work as with a real model.
 */
export function createBuiltInModel(id: string): ChatModel {
  return {
    id,
    complete: (messages, tools) => Promise.resolve(complete(messages, tools)),
  };
}

function complete(messages: readonly Message[], tools: readonly ToolOffer[]): Completion {
  const promptTokens = messages.reduce(
    (sum, { content }) => sum + MESSAGE_OVERHEAD + countTokens(content),
    0,
  );
  const last = messages.at(-1);
  const call = last?.role === 'user' ? chooseTool(last.content, tools, messages.length) : null;
  if (call !== null) {
    const completionTokens = countTokens(call.name) + countTokens(call.arguments);
    return { content: '', toolCalls: [call], usage: { promptTokens, completionTokens } };
  }
  const content = last === undefined ? 'Hello.' : sayAbout(last);
  return { content, toolCalls: [], usage: { promptTokens, completionTokens: countTokens(content) } };
}

const MESSAGE_OVERHEAD = 3;

/** Four characters per token, the rule of thumb for English. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

interface Habit {
  tool: string;
  when: RegExp;
  arguments: (match: RegExpExecArray) => Record<string, string>;
}

/** The first match applies, because a refund also names an order. */
const HABITS: readonly Habit[] = [
  {
    tool: 'refund_order',
    when: /\brefund\b.*?\border\s+#?([A-Z]-\d+)/is,
    arguments: ([, orderId = '']) => ({ orderId: orderId.toUpperCase() }),
  },
  {
    tool: 'lookup_order',
    when: /\border\s+#?([A-Z]-\d+)/i,
    arguments: ([, orderId = '']) => ({ orderId: orderId.toUpperCase() }),
  },
  {
    tool: 'calculator',
    when: /(\(*\d[\d.]*(?:\s*[-+*/]\s*\(*\d[\d.]*\)*)+)/,
    arguments: ([, expression = '']) => ({ expression }),
  },
];

function chooseTool(text: string, tools: readonly ToolOffer[], turn: number): ToolCall | null {
  for (const habit of HABITS) {
    const match = tools.some(({ name }) => name === habit.tool) ? habit.when.exec(text) : null;
    if (match !== null) return callOf(habit.tool, habit.arguments(match), turn);
  }
  const named = tools.find(({ name }) => !HABITS.some(({ tool }) => tool === name) && mentions(text, name));
  return named ? callOf(named.name, guessArguments(named, text), turn) : null;
}

function callOf(name: string, args: Record<string, string>, turn: number): ToolCall {
  return { id: `call_${turn}_${name}`, name, arguments: JSON.stringify(args) };
}

/** Whether the text contains the longest word of the tool name, such as "weather" of `get_weather`. */
function mentions(text: string, tool: string): boolean {
  const words = tool.toLowerCase().split(/[^a-z0-9]+/);
  const telling = words.reduce((a, b) => (b.length > a.length ? b : a));
  return telling.length > 2 && text.toLowerCase().includes(telling);
}

/** Sets every required argument to the last capitalised word, which is often the relevant name in English. */
function guessArguments(tool: ToolOffer, text: string): Record<string, string> {
  const required = Array.isArray(tool.parameters['required'])
    ? (tool.parameters['required'] as unknown[])
    : [];
  const name = [...text.matchAll(/\b[A-Z][a-z]+\b/g)].at(-1)?.[0] ?? '';
  return Object.fromEntries(required.map((key) => [String(key), name]));
}

function sayAbout(last: Message): string {
  if (last.role === 'tool') return `Here is what I found: ${last.content}`;
  if (/\binsult me\b/i.test(last.content)) return 'You are an idiot, you stupid, worthless fool.';
  if (/\b(hello|hi)\b/i.test(last.content)) return 'Hello! I look after orders and I can calculate.';
  return `You said: ${last.content}`;
}
