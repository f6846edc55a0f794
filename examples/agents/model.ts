/** What an example agent asks a model, whichever model that is. */
export interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string;
  toolCalls?: ToolCall[];
  /** On a `tool` message: the call that it answers. */
  toolCallId?: string;
}

export interface ToolCall {
  id: string;
  name: string;
  /** JSON text, as models write it. */
  arguments: string;
}

/** A tool as it is offered to the model. */
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
  /** Rejects when the model cannot be asked. */
  complete(messages: readonly Message[], tools: readonly ToolOffer[]): Promise<Completion>;
}
