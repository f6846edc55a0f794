import { ResponseFailure, type Limits } from './attempt.ts';
import type { CompletionOptions, CompletionResult } from './provider.ts';

/** The text of a response as it arrives, with a limit. */
export class ResponseText {
  readonly #limit: number;
  readonly #onText: CompletionOptions['onText'];
  #bytes = 0;
  #value = '';

  constructor({ responseBytes }: Limits, { onText }: CompletionOptions) {
    this.#limit = responseBytes;
    this.#onText = onText;
  }

  add(piece: string): void {
    this.#bytes += Buffer.byteLength(piece);
    if (this.#bytes > this.#limit)
      throw new ResponseFailure(`the text of the response is larger than the limit of ${this.#limit} bytes`);
    this.#value += piece;
    this.#onText?.(piece);
  }

  get value(): string {
    return this.#value;
  }
}

/** How a response ended; null: not reported by the vendor, so the response may be incomplete. */
export type End = 'complete' | 'cut' | 'refused' | null;

export type Usage = { inputTokens: number; outputTokens: number } | null;

export function usageOf(inputTokens: unknown, outputTokens: unknown): Usage {
  return isCount(inputTokens) && isCount(outputTokens) ? { inputTokens, outputTokens } : null;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** Only a complete response is a success. */
export function resultOf(
  vendor: string,
  end: End,
  response: { text: string; model: string; usage: Usage },
): CompletionResult {
  if (end === null) return { ok: false, reason: `the response of ${vendor} ended before it was complete` };
  if (end === 'refused') return { ok: false, reason: 'the model refused the request' };
  if (end === 'cut') return { ok: false, reason: 'the response was cut at the token limit' };
  if (response.text.trim() === '') return { ok: false, reason: 'the response of the model is empty' };
  return { ok: true, ...response };
}
