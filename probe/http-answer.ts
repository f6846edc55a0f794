import type { HttpAnswer } from '../core/facts/facts.ts';
import { exchange, type ExchangeOptions } from './http-exchange.ts';

/** `body`: null when not requested, too large, cut off or late. `contentType`: the header as sent. */
export type AnswerWithBody = HttpAnswer & { body: Buffer | null; contentType?: string };

/** One GET for JSON that reads only as much of the response as a report needs. Never rejects. */
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
