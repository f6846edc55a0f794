import type Anthropic from '@anthropic-ai/sdk';
import { readEnv, type Environment } from '../runtime/env.ts';
import type { Secret } from '../runtime/secret.ts';
import { ResponseText, resultOf, usageOf, type End } from './response.ts';
import { apiAttempt, clientOptions, inAcceptedForm } from './api-failure.ts';
import { attempt, LIMITS, type Limits } from './attempt.ts';
import { withResponseFormat } from './prompts/response-format.ts';
import {
  notReady,
  type CompletionRequest,
  type CompletionResult,
  type Provider,
  type Readiness,
} from './provider.ts';
import { ANTHROPIC_FIELDS, DEFAULT_MODELS, modelOverride, withInvalidVariable } from './settings.ts';

const VENDOR = 'Anthropic';
const PUBLIC_API = 'https://api.anthropic.com';

interface AnthropicSettings {
  key: Secret;
  /** null: the public API. */
  baseUrl: URL | null;
  model: string;
  limits?: Limits;
}

/** The form of a request: models without structured output get the schema as text. */
interface Form {
  hasSchema: boolean;
}

/** The provider anthropic-api. Its key is not tested, because only a request to a model would do that. */
export function checkAnthropic(env: Environment): Readiness {
  const read = readEnv(env, ANTHROPIC_FIELDS);
  if (!read.ok) return withInvalidVariable(read.problems);
  const { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: baseUrl } = read.config;
  if (key === null)
    return notReady('ANTHROPIC_API_KEY is not set', 'Set ANTHROPIC_API_KEY to a key of the Anthropic API.');
  const model = modelOverride(env) ?? DEFAULT_MODELS['anthropic-api'];
  return { ready: true, provider: anthropicProvider({ key, baseUrl, model }) };
}

export function anthropicProvider({ key, baseUrl, model, limits = LIMITS }: AnthropicSettings): Provider {
  const memory: { form: Form } = { form: { hasSchema: true } };
  const about = apiAttempt({ vendor: VENDOR, keyName: 'ANTHROPIC_API_KEY', key, limits });
  return {
    name: 'anthropic-api',
    model,
    complete: (request, options) =>
      attempt(about, options, async (signal) => {
        const { loadAnthropic } = await import('./sdk/main.ts');
        const Client = await loadAnthropic();
        const client = new Client({
          ...clientOptions(key, limits),
          baseURL: baseUrl?.href ?? PUBLIC_API,
        });
        return await inAcceptedForm(memory, withoutSchema, async (form) => {
          const events = await client.messages.create(bodyOf(request, model, form), { signal });
          return await responseIn(events, new ResponseText(limits, options), model);
        });
      }),
  };
}

const withoutSchema = ({ hasSchema }: Form): Form | null => (hasSchema ? { hasSchema: false } : null);

function bodyOf(
  { system, prompt, schema: { schema }, maxTokens }: CompletionRequest,
  model: string,
  { hasSchema }: Form,
): Anthropic.MessageCreateParamsStreaming {
  const body: Anthropic.MessageCreateParamsStreaming = {
    model,
    max_tokens: maxTokens,
    system: hasSchema ? system : withResponseFormat(system, schema),
    messages: [{ role: 'user', content: prompt }],
    stream: true,
  };
  if (hasSchema) body.output_config = { format: { type: 'json_schema', schema: { ...schema } } };
  return body;
}

const ENDS: ReadonlyMap<string, End> = new Map<string, End>([
  ['max_tokens', 'cut'],
  ['model_context_window_exceeded', 'cut'],
  ['refusal', 'refused'],
]);

async function responseIn(
  events: AsyncIterable<Anthropic.RawMessageStreamEvent>,
  text: ResponseText,
  requested: string,
): Promise<CompletionResult> {
  let [model, inputTokens, outputTokens] = [requested, 0, 0];
  let end: End = null;
  for await (const event of events)
    if (event.type === 'message_start') {
      model = event.message.model;
      inputTokens = event.message.usage.input_tokens;
    } else if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
      text.add(event.delta.text);
    } else if (event.type === 'message_delta') {
      const { stop_reason: reason } = event.delta;
      if (reason) end = ENDS.get(reason) ?? 'complete';
      outputTokens = event.usage.output_tokens;
    }
  return resultOf(VENDOR, end, { text: text.value, model, usage: usageOf(inputTokens, outputTokens) });
}
