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

/** Sends samples to one agent, and remembers the form of the body that the agent accepts. */
export class SampleSender {
  readonly #endpoint: AgentEndpoint;
  #accepted: BodyForm | null = null;

  constructor(endpoint: AgentEndpoint) {
    this.#endpoint = endpoint;
  }

  /** Never rejects; null: the run was aborted. */
  async send(sample: Sample): Promise<SampleResult | null> {
    const forms = this.#accepted === null ? this.#endpoint.forms : [this.#accepted];
    for (const form of forms) {
      const startedAt = performance.now();
      const response = await this.#exchange(form, sample.input);
      const latencyMs = Math.round(performance.now() - startedAt);
      if (this.#endpoint.signal?.aborted === true) return null;
      if (response.answered && OTHER_FORM.includes(response.status) && form !== forms.at(-1)) continue;
      if (response.answered && response.status < 300) this.#accepted = form;
      return this.#resultOf(sample, response, latencyMs);
    }
    throw new Error('there is no form of the body to try');
  }

  #exchange(form: BodyForm, message: string): Promise<Exchange> {
    const { url, model, headers, timeoutMs, signal } = this.#endpoint;
    return exchange(url, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'accept-encoding': 'identity',
      },
      body: JSON.stringify(BODIES[form](message, model)),
      maxBytes: MAX_BYTES,
      timeoutMs,
      signal,
    });
  }

  #resultOf(sample: Sample, response: Exchange, latencyMs: number): SampleResult {
    const { line, input, expected } = sample;
    const failed = (error: string) => ({ line, input, expected, passed: false, error, latencyMs });
    if (!response.answered) return failed(response.reason);
    const { status, headers, body } = response;
    if (status > 299) return failed(`HTTP ${status}${body === null ? '' : `: ${startOf(body)}`}`);
    if (body === null)
      return failed(`the response did not end within ${this.#endpoint.timeoutMs} ms or 8 MiB`);
    const text = responseText(headers['content-type'] ?? '', body.toString());
    return judgeSample(sample, { text, latencyMs, tokens: this.#tokensOf(response, body) });
  }

  #tokensOf({ status, headers }: Exchange & { answered: true }, body: Buffer): number | null {
    // The samples are sent to the declared chat path, where usage counts in any form.
    const path = this.#endpoint.url.pathname;
    const about = { method: 'POST', path, declared: { chatPath: path, isMcp: false } };
    const head = { statusCode: status, contentType: headers['content-type'], ...about };
    const reader = createUsageReader(head, () => null);
    if (reader.needsBody) reader.write(body);
    const calls = reader.end()?.calls ?? [];
    return calls.length === 0 ? null : calls.reduce((sum, { totalTokens }) => sum + totalTokens, 0);
  }
}

const startOf = (body: Buffer): string => body.toString().replaceAll(/\s+/g, ' ').slice(0, 200);
