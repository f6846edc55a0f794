import { AnswerFailure, type Limits } from './attempt.ts';
import type { CompletionOptions, CompletionResult } from './provider.ts';

/** The text of an answer as it arrives, with a limit. */
export class AnswerText {
  readonly #limit: number;
  readonly #onText: CompletionOptions['onText'];
  #bytes = 0;
  #value = '';

  constructor({ answerBytes }: Limits, { onText }: CompletionOptions) {
    this.#limit = answerBytes;
    this.#onText = onText;
  }

  add(piece: string): void {
    this.#bytes += Buffer.byteLength(piece);
    if (this.#bytes > this.#limit)
      throw new AnswerFailure(`the answer is larger than the limit of ${this.#limit} bytes`);
    this.#value += piece;
    this.#onText?.(piece);
  }

  get value(): string {
    return this.#value;
  }
}

/** How an answer ended; null: the vendor did not say, so the answer may be incomplete. */
export type End = 'complete' | 'cut' | 'refused' | null;

export type Usage = { inputTokens: number; outputTokens: number } | null;

export function usageOf(inputTokens: unknown, outputTokens: unknown): Usage {
  return isCount(inputTokens) && isCount(outputTokens) ? { inputTokens, outputTokens } : null;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** Only a complete answer is a success. */
export function resultOf(
  vendor: string,
  end: End,
  answer: { text: string; model: string; usage: Usage },
): CompletionResult {
  if (end === null)
    return { ok: false, reason: `the response of ${vendor} ended before the answer was complete` };
  if (end === 'refused') return { ok: false, reason: 'the model refused to answer' };
  if (end === 'cut') return { ok: false, reason: 'the answer was cut at the token limit' };
  if (answer.text.trim() === '') return { ok: false, reason: 'the answer of the model is empty' };
  return { ok: true, ...answer };
}
