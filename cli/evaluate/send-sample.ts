import type { Sample } from '../../authoring/evaluation/dataset.ts';
import { judgeSample, type SampleResult } from '../../authoring/evaluation/evaluation.ts';
import { responseText } from '../../authoring/evaluation/response-text.ts';
import { createUsageReader } from '../../core/usage/create-usage-reader.ts';
import { exchange, type Exchange } from '../../probe/http-exchange.ts';

/** Bodies of the request by the value of `--body`. */
const BODIES = {
  openai: (message: string, model: string) => ({ model, messages: [{ role: 'user', content: message }] }),
  plain: (message: string) => ({ message }),
} as const;

export type BodyForm = keyof typeof BODIES;
export const BODY_FORMS = Object.keys(BODIES) as BodyForm[];

export interface AgentEndpoint {
  /** With the path of the chat endpoint. */
  url: URL;
  /** Model id for OpenAI-compatible bodies. */
  model: string;
  /** Forms to try, in order. A response 400, 404, 415 or 422 means that the agent does not accept the form. */
  forms: readonly BodyForm[];
  /** Headers of every request; lower-case names. */
  headers: Readonly<Record<string, string>>;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

const MAX_BYTES = 8 * 1024 * 1024;
const OTHER_FORM = [400, 404, 415, 422];

/**
 * Returns a function that sends one sample to the agent, and remembers the form of the body that the agent accepts. It never
 * rejects; null: the run was aborted.
 */
export function sampleSender(endpoint: AgentEndpoint): (sample: Sample) => Promise<SampleResult | null> {
  const { url, model, headers: own, timeoutMs, signal } = endpoint;
  let { forms } = endpoint;
  const headers = {
    ...own,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
  };
  return async (sample) => {
    for (const form of forms) {
      const body = JSON.stringify(BODIES[form](sample.input, model));
      const startedAt = performance.now();
      const options = { method: 'POST', headers, body, maxBytes: MAX_BYTES, timeoutMs, signal } as const;
      const response = await exchange(url, options);
      const latencyMs = Math.round(performance.now() - startedAt);
      if (signal?.aborted === true) return null;
      if (response.answered && OTHER_FORM.includes(response.status) && form !== forms.at(-1)) continue;
      if (response.answered && response.status < 300) forms = [form];
      return resultOf(sample, response, latencyMs, endpoint);
    }
    throw new Error('there is no form of the body to try');
  };
}

function resultOf(
  sample: Sample,
  response: Exchange,
  latencyMs: number,
  { url, timeoutMs }: AgentEndpoint,
): SampleResult {
  const { line, input, expected } = sample;
  const failed = (error: string) => ({ line, input, expected, passed: false, error, latencyMs });
  if (!response.answered) return failed(response.reason);
  const { status, headers, body } = response;
  if (status > 299) return failed(`HTTP ${status}${body === null ? '' : `: ${startOf(body)}`}`);
  if (body === null) return failed(`the response did not end within ${timeoutMs} ms or 8 MiB`);
  const contentType = headers['content-type'];
  const text = responseText(contentType ?? '', body.toString());
  // The samples are sent to the declared chat path, where usage counts in any form.
  const path = url.pathname;
  const about = { method: 'POST', path, declared: { chatPath: path, isMcp: false } };
  const reader = createUsageReader({ statusCode: status, contentType, ...about }, () => null);
  if (reader.needsBody) reader.write(body);
  const calls = reader.end()?.calls ?? [];
  const tokens = calls.length === 0 ? null : calls.reduce((sum, { totalTokens }) => sum + totalTokens, 0);
  return judgeSample(sample, { text, latencyMs, tokens });
}

const startOf = (body: Buffer): string => body.toString().replaceAll(/\s+/g, ' ').slice(0, 200);
