import type OpenAI from 'openai';
import { isRecord } from '../core/untrusted/fields.ts';
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
  type ProviderName,
  type Readiness,
} from './provider.ts';
import {
  COMPATIBLE_FIELDS,
  DEFAULT_MODELS,
  modelOverride,
  OPENAI_FIELDS,
  withInvalidVariable,
} from './settings.ts';

type Body = OpenAI.ChatCompletionCreateParamsStreaming;

const PUBLIC_API = new URL('https://api.openai.com/v1');

interface OpenAiSettings {
  name: Extract<ProviderName, 'openai-api' | 'openai-compatible'>;
  /** The variable with the key. */
  keyName: string;
  key: Secret;
  /** With the path of the version. */
  baseUrl: URL;
  model: string;
  limits?: Limits;
}

/** The members of a request that some compatible endpoints reject. */
interface Form {
  hasSchema: boolean;
  hasUsage: boolean;
  /** Models with reasoning accept only `max_completion_tokens`, older servers only `max_tokens`. */
  limit: 'max_tokens' | 'max_completion_tokens';
}

/** The provider openai-api. Its key is not tested, because only a request to a model would do that. */
export function checkOpenai(env: Environment): Readiness {
  const read = readEnv(env, OPENAI_FIELDS);
  if (!read.ok) return withInvalidVariable(read.problems);
  const { OPENAI_API_KEY: key, OPENAI_BASE_URL: baseUrl } = read.config;
  if (key === null)
    return notReady('OPENAI_API_KEY is not set', 'Set OPENAI_API_KEY to a key of the OpenAI API.');
  const provider = openaiProvider({
    name: 'openai-api',
    keyName: 'OPENAI_API_KEY',
    key,
    baseUrl: baseUrl ?? PUBLIC_API,
    model: modelOverride(env) ?? DEFAULT_MODELS['openai-api'],
  });
  return { ready: true, provider };
}

/** The provider openai-compatible: any endpoint with the chat completions API. */
export function checkCompatible(env: Environment): Readiness {
  const read = readEnv(env, COMPATIBLE_FIELDS);
  if (!read.ok) return withInvalidVariable(read.problems);
  const {
    PLATFORM_LLM_API_KEY: key,
    PLATFORM_LLM_MODEL: model,
    PLATFORM_LLM_BASE_URL: baseUrl,
  } = read.config;
  if (key === null)
    return notReady(
      'PLATFORM_LLM_API_KEY is not set',
      'Set PLATFORM_LLM_API_KEY, PLATFORM_LLM_MODEL and PLATFORM_LLM_BASE_URL.',
    );
  if (model === null)
    return notReady(
      'PLATFORM_LLM_API_KEY is set, but PLATFORM_LLM_MODEL is not',
      'Set PLATFORM_LLM_MODEL to a model of the endpoint.',
    );
  const keyName = 'PLATFORM_LLM_API_KEY';
  const provider = openaiProvider({ name: 'openai-compatible', keyName, key, baseUrl, model });
  return { ready: true, provider };
}

export function openaiProvider(settings: OpenAiSettings): Provider {
  const { name, keyName, key, baseUrl, model, limits = LIMITS } = settings;
  const isOpenai = name === 'openai-api' || baseUrl.hostname === PUBLIC_API.hostname;
  const vendor = isOpenai ? 'OpenAI' : `the endpoint ${baseUrl.host}`;
  const memory: { form: Form } = {
    form: { hasSchema: true, hasUsage: true, limit: isOpenai ? 'max_completion_tokens' : 'max_tokens' },
  };
  const about = apiAttempt({ vendor, keyName, key, limits });
  return {
    name,
    model,
    complete: (request, options) =>
      attempt(about, options, async (signal) => {
        const client = await clientOf(settings, limits);
        return await inAcceptedForm(memory, weaker, async (form) => {
          const body = bodyOf(request, model, form);
          const { data, response } = await client.chat.completions.create(body, { signal }).withResponse();
          const isWhole = /^application\/json\b/i.test(response.headers.get('content-type') ?? '');
          const chunks = isWhole ? [wholeResponse(await response.json())] : data;
          return await responseIn(chunks, new ResponseText(limits, options), { vendor, model });
        });
      }),
  };
}

async function clientOf({ name, key, baseUrl }: OpenAiSettings, limits: Limits): Promise<OpenAI> {
  const { loadOpenai } = await import('./sdk/main.ts');
  const Client = await loadOpenai();
  return new Client({
    ...clientOptions(key, limits),
    baseURL: baseUrl.href,
    // The SDK reads these from the environment, where they belong to OPENAI_API_KEY.
    adminAPIKey: null,
    ...(name === 'openai-compatible' && { organization: null, project: null }),
  });
}

/** Without the member that the error names, else without the schema, else with nothing optional. */
function weaker(form: Form, error: unknown): Form | null {
  const message = error instanceof Error ? error.message : '';
  if (form.limit === 'max_tokens' && message.includes('max_completion_tokens'))
    return { ...form, limit: 'max_completion_tokens' };
  if (form.hasUsage && message.includes('stream_options')) return { ...form, hasUsage: false };
  if (form.hasSchema) return { ...form, hasSchema: false };
  return form.hasUsage ? { ...form, hasUsage: false } : null;
}

function bodyOf(request: CompletionRequest, model: string, { hasSchema, hasUsage, limit }: Form): Body {
  const { system, prompt, schema, maxTokens } = request;
  const body: Body = {
    model,
    messages: [
      { role: 'system', content: hasSchema ? system : withResponseFormat(system, schema.schema) },
      { role: 'user', content: prompt },
    ],
    stream: true,
  };
  body[limit] = maxTokens;
  if (hasUsage) body.stream_options = { include_usage: true };
  if (hasSchema)
    body.response_format = {
      type: 'json_schema',
      json_schema: { name: schema.name, schema: { ...schema.schema }, strict: true },
    };
  return body;
}

const ENDS: ReadonlyMap<string, End> = new Map<string, End>([
  ['length', 'cut'],
  ['content_filter', 'refused'],
]);

/** The response of an endpoint that does not stream, as one chunk. */
function wholeResponse(body: unknown): OpenAI.ChatCompletionChunk {
  const { choices, ...others } = (isRecord(body) ? body : {}) as unknown as OpenAI.ChatCompletion;
  const deltas = (Array.isArray(choices) ? choices : []).map(({ message, ...choice }) => ({
    ...choice,
    delta: message,
  }));
  return { ...others, choices: deltas } as unknown as OpenAI.ChatCompletionChunk;
}

async function responseIn(
  chunks: AsyncIterable<OpenAI.ChatCompletionChunk> | Iterable<OpenAI.ChatCompletionChunk>,
  text: ResponseText,
  requested: { vendor: string; model: string },
): Promise<CompletionResult> {
  let { model } = requested;
  let end: End = null;
  let isRefused = false;
  let usage = usageOf(null, null);
  for await (const chunk of chunks) {
    model = chunk.model || model;
    if (chunk.usage) usage = usageOf(chunk.usage.prompt_tokens, chunk.usage.completion_tokens);
    // Some endpoints send chunks without choices, or choices without a delta.
    const choice = chunk.choices?.[0];
    if (choice?.delta?.content) text.add(choice.delta.content);
    if (choice?.delta?.refusal) isRefused = true;
    if (choice?.finish_reason) end = ENDS.get(choice.finish_reason) ?? 'complete';
  }
  return resultOf(requested.vendor, isRefused ? 'refused' : end, { text: text.value, model, usage });
}
