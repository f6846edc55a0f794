import type { HttpAnswer } from '../core/facts/facts.ts';
import { exchange, type ExchangeOptions } from './http-exchange.ts';

/** `body`: null when it was not wanted, too large, cut off or late. `contentType`: as it was sent. */
export type AnswerWithBody = HttpAnswer & { body: Buffer | null; contentType?: string };

/** One GET for JSON, and no more of the answer than a report needs. Never rejects. */
export async function httpAnswer(
  url: URL,
  options: Pick<ExchangeOptions, 'timeoutMs' | 'maxBytes' | 'signal'> = {},
): Promise<AnswerWithBody> {
  const answer = await exchange(url, options);
  if (!answer.answered) return { answered: false, reason: answer.reason, body: null };
  const { status, latencyMs, headers, body } = answer;
  const contentType = headers['content-type'];
  return { answered: true, status, latencyMs, body, ...(contentType !== undefined && { contentType }) };
}
