import type { Reach } from '../core/facts/facts.ts';
import { resolveReference, type Environment, type ReferenceSources } from './references.ts';

/** How to check a vendor's API: the cheapest GET that requires the key. */
interface Vendor {
  baseUrl: string;
  /** Appended to the base URL. */
  path: string;
  headers: (key: string) => Record<string, string>;
  /** Statuses in addition to 401 and 403 that mean a rejected key. */
  rejected?: readonly number[];
}

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const openAiLike = (baseUrl: string, path = '/models'): Vendor => ({ baseUrl, path, headers: bearer });

const VENDORS: ReadonlyMap<string, Vendor> = new Map(
  Object.entries({
    openai: openAiLike('https://api.openai.com/v1'),
    anthropic: {
      baseUrl: 'https://api.anthropic.com',
      path: '/v1/models',
      headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
    },
    google: {
      baseUrl: 'https://generativelanguage.googleapis.com',
      path: '/v1beta/models',
      headers: (key) => ({ 'x-goog-api-key': key }),
      // Google rejects an invalid key with 400 API_KEY_INVALID.
      rejected: [400],
    },
    mistral: openAiLike('https://api.mistral.ai/v1'),
    groq: openAiLike('https://api.groq.com/openai/v1'),
    cohere: openAiLike('https://api.cohere.com/v1'),
    deepseek: openAiLike('https://api.deepseek.com'),
    xai: openAiLike('https://api.x.ai/v1'),
    together: openAiLike('https://api.together.xyz/v1'),
    // The model list is public there, so it does not verify the key.
    openrouter: openAiLike('https://openrouter.ai/api/v1', '/key'),
    ollama: openAiLike('http://localhost:11434/v1'),
  }),
);

const AZURE: Omit<Vendor, 'baseUrl'> = {
  path: '/openai/models?api-version=2024-10-21',
  headers: (key) => ({ 'api-key': key }),
};

/** Other common names of the vendors above. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['gemini', 'google'],
  ['google-genai', 'google'],
  ['mistralai', 'mistral'],
  ['x-ai', 'xai'],
  ['grok', 'xai'],
  ['togetherai', 'together'],
  ['azure-openai', 'azure'],
]);

export interface ModelProbe {
  /** `spec.model` or `spec.model.fallback`. */
  model: { provider: string; apiKey: string };
  sources: ReferenceSources;
  /** Milliseconds; default 5000. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/**
 * Checks that the provider's API is reachable and accepts the key. Reachable: any response except a rejected key and 5xx,
 * since a 404 or 429 also comes from the API. Unknown: the key does not resolve, or the provider has no known address.
 * The result never contains the key.
 */
export async function modelReach(probe: ModelProbe): Promise<Reach> {
  const found = vendorOf(probe.model.provider, probe.sources.env ?? {});
  if ('reason' in found) return { state: 'unknown', reason: found.reason };
  const key = await resolveReference(probe.model.apiKey, probe.sources);
  if (!key.ok) return { state: 'unknown', reason: key.reason };
  return callApi(found, key.value, probe);
}

function vendorOf(provider: string, env: Environment): Vendor | { reason: string } {
  const folded = provider.trim().toLowerCase();
  const name = ALIASES.get(folded) ?? folded;
  const variable =
    name === 'azure'
      ? 'AZURE_OPENAI_ENDPOINT'
      : `${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_BASE_URL`;
  const given = env[variable];
  const known = VENDORS.get(name);
  if (given === undefined || given === '')
    return known ?? { reason: `no API address is known for provider ${provider}: set ${variable}` };
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol)) return { reason: `${variable} is not an http(s) URL` };
  if (url.username !== '' || url.password !== '')
    return { reason: `${variable} contains a user name or password, which is not supported` };
  const baseUrl = given.replace(/\/+$/, '');
  if (name === 'azure') return { ...AZURE, baseUrl };
  return known === undefined ? openAiLike(baseUrl) : { ...known, baseUrl };
}

async function callApi(vendor: Vendor, key: string, probe: ModelProbe): Promise<Reach> {
  const { model, timeoutMs = 5000, signal } = probe;
  const late = new AbortController();
  const timeout = late.signal;
  const timer = setTimeout(() => late.abort(), timeoutMs);
  const started = performance.now();
  try {
    const response = await fetch(vendor.baseUrl + vendor.path, {
      headers: { accept: 'application/json', ...vendor.headers(key) },
      // Following a redirect would send the key to its target.
      redirect: 'manual',
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    const latencyMs = Math.round(performance.now() - started);
    await response.body?.cancel();
    return verdict(vendor, { status: response.status, latencyMs, provider: model.provider });
  } catch (error) {
    return {
      state: 'unreachable',
      reason: failureOf(error, { provider: model.provider, timeoutMs, timeout }),
    };
  } finally {
    clearTimeout(timer);
  }
}

function verdict(vendor: Vendor, answer: { status: number; latencyMs: number; provider: string }): Reach {
  const { status, latencyMs, provider } = answer;
  if (status === 401 || status === 403 || vendor.rejected?.includes(status) === true)
    return { state: 'unreachable', reason: `the key was rejected: ${provider} responded with ${status}` };
  if (status >= 500) return { state: 'unreachable', reason: `${provider} responded with ${status}` };
  return { state: 'reachable', latencyMs };
}

/** Contains the provider's name, not its address: reports are public, and a gateway's address may be private. */
function failureOf(
  error: unknown,
  about: { provider: string; timeoutMs: number; timeout: AbortSignal },
): string {
  if (about.timeout.aborted) return `${about.provider} did not respond within ${about.timeoutMs} ms`;
  // Tested by shape, not by class: an error may come from another realm (a test, a worker of the agent's server).
  const { name, cause } = error as { name?: string; cause?: { code?: string } };
  // A key with a line feed or a non-Latin-1 character cannot be sent. The error's own text would show the key.
  if (name === 'TypeError' && cause === undefined)
    return 'the key cannot be sent: it is not a valid header value';
  return `${about.provider} cannot be reached${cause?.code === undefined ? '' : `: ${cause.code}`}`;
}
