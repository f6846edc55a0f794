import type { Guardrail, Manifest } from '../../core/manifest/manifest.ts';
import type { Fault } from './faults.ts';
import { runGuardrail, type GuardrailResult } from './guardrails.ts';
import type { ChatModel, Completion, Message, TokenUsage, ToolCall, ToolOffer } from './model.ts';
import type { AgentTool } from './tools.ts';

/** One chat request, independent of its route. */
export interface TurnRequest {
  messages: Message[];
  /** Tools that the client runs itself. */
  callerTools: ToolOffer[];
  /** The user confirmed a destructive action. */
  confirmed: boolean;
  streamed: boolean;
}

export interface Turn {
  content: string;
  /** Calls of the client's tools, to be run by the client. */
  toolCalls: ToolCall[];
  finishReason: 'stop' | 'tool_calls' | 'content_filter';
  usage: TokenUsage;
  /** Behavior that the agent reports to the sidecar. */
  behavior: { guardrails: string[]; tools: string[]; confirmed: boolean };
}

export interface TurnContext {
  manifest: Manifest;
  model: ChatModel;
  tools: readonly AgentTool[];
  faults: ReadonlySet<Fault>;
  systemPrompt: string | null;
  /** Called once per model call. */
  onModelCall(usage: TokenUsage): void;
}

const REFUSAL = 'I am not able to help with that.';
const LONG_MESSAGE = 80;
const MAX_MODEL_CALLS = 4;

/** One turn of an agent: input guardrails, the model with its tools, output guardrails. Rejects if the model request fails. */
export async function takeTurn(request: TurnRequest, context: TurnContext): Promise<Turn> {
  const guardrails = context.faults.has('claims-guardrails') ? declaredTypes(context.manifest) : [];
  const { messages, blocked } = guardInput(request, context, guardrails);
  const talk = blocked
    ? { completion: REFUSED, usage: REFUSED.usage, tools: [], confirmed: false }
    : await converse(messages, request, context);
  const output = guardOutput(talk.completion.content, request, context, guardrails);
  const refused = blocked || output.blocked;
  return {
    content: refused ? REFUSAL : output.text,
    toolCalls: refused ? [] : talk.completion.toolCalls,
    finishReason: refused ? 'content_filter' : talk.completion.toolCalls.length > 0 ? 'tool_calls' : 'stop',
    usage: talk.usage,
    behavior: { guardrails, tools: talk.tools, confirmed: talk.confirmed },
  };
}

const REFUSED: Completion = {
  content: REFUSAL,
  toolCalls: [],
  usage: { promptTokens: 0, completionTokens: 0 },
};

/** Runs every declared input guardrail on every user message, even after one of them has blocked. */
function guardInput(
  request: TurnRequest,
  context: TurnContext,
  invoked: string[],
): { messages: Message[]; blocked: boolean } {
  const last = request.messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const declared = (context.manifest.spec.guardrails?.input ?? []).filter(
    ({ type }) => !isSkipped(type, last, context.faults),
  );
  let blocked = false;
  const messages = request.messages.map((message) => {
    if (message.role !== 'user') return message;
    const result = applyAll(declared, message.content, invoked);
    blocked ||= result.blocked;
    return { ...message, content: result.text };
  });
  const system: Message[] =
    context.systemPrompt === null ? [] : [{ role: 'system', content: context.systemPrompt }];
  return { messages: [...system, ...messages], blocked };
}

function declaredTypes({ spec: { guardrails } }: Manifest): string[] {
  const all = [...(guardrails?.input ?? []), ...(guardrails?.output ?? [])];
  return [...new Set(all.map(({ type }) => type))];
}

function isSkipped(type: Guardrail['type'], text: string, faults: ReadonlySet<Fault>): boolean {
  if (faults.has('claims-guardrails')) return true;
  return type === 'pii-detector' && faults.has('pii-only-for-long-messages') && text.length < LONG_MESSAGE;
}

function guardOutput(
  text: string,
  request: TurnRequest,
  context: TurnContext,
  invoked: string[],
): GuardrailResult {
  const { faults } = context;
  const isUnfiltered = request.streamed && faults.has('streams-unfiltered');
  if (isUnfiltered || faults.has('claims-guardrails')) return { text, blocked: false };
  return applyAll(context.manifest.spec.guardrails?.output ?? [], text, invoked);
}

function applyAll(declared: readonly Guardrail[], text: string, invoked: string[]): GuardrailResult {
  let all: GuardrailResult = { text, blocked: false };
  for (const guardrail of declared) {
    const result = runGuardrail(guardrail, all.text);
    if (result === null) continue;
    if (!invoked.includes(guardrail.type)) invoked.push(guardrail.type);
    all = { text: result.text, blocked: all.blocked || result.blocked };
  }
  return all;
}

interface Talk {
  completion: Completion;
  usage: TokenUsage;
  tools: string[];
  confirmed: boolean;
}

/** Calls the model until it returns text or calls a tool of the client. */
async function converse(messages: Message[], request: TurnRequest, context: TurnContext): Promise<Talk> {
  const talk: Talk = {
    completion: REFUSED,
    usage: { promptTokens: 0, completionTokens: 0 },
    tools: [],
    confirmed: false,
  };
  const offers = [...context.tools, ...request.callerTools].map(offerOf);
  for (let calls = 0; calls < MAX_MODEL_CALLS; calls += 1) {
    const completion = await context.model.complete(messages, offers);
    context.onModelCall(completion.usage);
    talk.usage.promptTokens += completion.usage.promptTokens;
    talk.usage.completionTokens += completion.usage.completionTokens;
    talk.completion = completion;
    const own = completion.toolCalls.filter(({ name }) => context.tools.some((tool) => tool.name === name));
    if (own.length === 0) break;
    const results = own.map((call) => runTool(call, request, context, talk));
    messages = [...messages, { role: 'assistant', content: completion.content, toolCalls: own }, ...results];
    talk.completion = { ...completion, toolCalls: [] };
  }
  return talk;
}

/** What a model gets of a tool. */
const offerOf = ({ name, description, parameters }: ToolOffer): ToolOffer => ({
  name,
  description,
  parameters,
});

function runTool(call: ToolCall, request: TurnRequest, context: TurnContext, talk: Talk): Message {
  const result = (content: string): Message => ({ role: 'tool', content, toolCallId: call.id });
  const tool = context.tools.find(({ name }) => name === call.name);
  if (tool === undefined) return result(`there is no tool ${call.name}`);
  if (tool.destructive && !request.confirmed && !context.faults.has('refunds-unconfirmed'))
    return result(`${call.name} needs the confirmation of the user first`);
  talk.tools.push(call.name);
  if (tool.destructive) talk.confirmed = request.confirmed;
  try {
    return result(tool.run(argumentsOf(call)));
  } catch (error) {
    return result(`${call.name} failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function argumentsOf(call: ToolCall): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(call.arguments);
  if (typeof value !== 'object' || value === null) throw new Error('its arguments are not an object');
  return value as Record<string, unknown>;
}
