/** A message between an example agent and a model, independent of the model. */
export interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string;
  toolCalls?: ToolCall[];
  /** In a `tool` message: id of the call. */
  toolCallId?: string;
}

export interface ToolCall {
  id: string;
  name: string;
  /** JSON text, as returned by models. */
  arguments: string;
}

/** A tool that is offered to the model. */
export interface ToolOffer {
  name: string;
  description: string;
  /** JSON Schema of its arguments. */
  parameters: Readonly<Record<string, unknown>>;
}

export interface TokenUsage {
  promptTokens: number;
  completionTokens: number;
}

export interface Completion {
  content: string;
  toolCalls: ToolCall[];
  usage: TokenUsage;
}

export interface ChatModel {
  readonly id: string;
  /** Rejects if the model request fails. */
  complete(messages: readonly Message[], tools: readonly ToolOffer[]): Promise<Completion>;
}
