import type { ModelApi } from '../core/vendors/vendor.ts';
import { modelVendorOf } from '../core/vendors/vendors.ts';
import type { Reach } from '../core/facts/facts.ts';
import { resolveReference, type Environment, type ReferenceSources } from './references.ts';

/** A vendor with the base URL that is used. */
type Vendor = ModelApi & { baseUrl: string };

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
  const { vendor, variable: own, client } = modelVendorOf(provider);
  const isOfClient = (env[own] ?? '') === '' && client !== undefined && (env[client.name] ?? '') !== '';
  const variable = isOfClient ? client.name : own;
  const given = env[variable];
  if (given === undefined || given === '')
    return vendor.baseUrl === null
      ? { reason: `no API address is known for provider ${provider}: set ${variable}` }
      : { ...vendor, baseUrl: vendor.baseUrl };
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol)) return { reason: `${variable} is not an http(s) URL` };
  if (url.username !== '' || url.password !== '')
    return { reason: `${variable} contains a user name or password, which is not supported` };
  return { ...vendor, baseUrl: given.replace(/\/+$/, '') + (isOfClient ? client.path : '') };
}

function keyHeaders({ keyHeader, headers }: Vendor, key: string): Record<string, string> {
  return { ...headers, [keyHeader]: keyHeader === 'authorization' ? `Bearer ${key}` : key };
}

async function callApi(vendor: Vendor, key: string, probe: ModelProbe): Promise<Reach> {
  const { model, timeoutMs = 5000, signal } = probe;
  const timeout = AbortSignal.timeout(timeoutMs);
  const started = performance.now();
  try {
    const response = await fetch(vendor.baseUrl + vendor.checkPath, {
      headers: { accept: 'application/json', ...keyHeaders(vendor, key) },
      // Following a redirect would send the key to its target.
      redirect: 'manual',
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    const latencyMs = Math.round(performance.now() - started);
    await response.body?.cancel();
    return reachOf(vendor, { status: response.status, latencyMs, provider: model.provider });
  } catch (error) {
    return {
      state: 'unreachable',
      reason: failureOf(error, { provider: model.provider, timeoutMs, timeout }),
    };
  }
}

function reachOf(vendor: Vendor, response: { status: number; latencyMs: number; provider: string }): Reach {
  const { status, latencyMs, provider } = response;
  if (status === 401 || status === 403 || vendor.rejected.includes(status))
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
