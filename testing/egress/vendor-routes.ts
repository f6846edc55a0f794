import { ANTHROPIC, CHAT, EMBEDDINGS, MISTRAL, RESPONSES, type LaneWire } from './lane-wire.ts';
import { COHERE } from './wire-cohere.ts';
import { GEMINI } from './wire-gemini.ts';
import { OLLAMA } from './wire-ollama.ts';

/** One route of a vendor's public API. */
export interface VendorRoute {
  /** The host of the public API; null: no host of its own (Ollama). */
  host: string | null;
  /** The whole path. The group `model`: the model or deployment is in the path. `stream`: the path requests a stream. */
  path: RegExp;
  wire: LaneWire;
}

/** Hosts that depend on the customer. */
export const AZURE_HOST = 'shop.openai.azure.com';
export const VERTEX_HOST = 'us-central1-aiplatform.googleapis.com';
/** A company's gateway with OpenAI's API below a path of its own. */
export const GATEWAY_HOST = 'llm.corp.example';

const google = (start: string): RegExp =>
  new RegExp(`^${start}/models/(?<model>[^/:]+):(?:(?<stream>streamGenerateContent)|generateContent)$`);

/** Every route, exactly as the vendor serves it: a lane that sends another path gets 404, as from the vendor. */
export const VENDOR_ROUTES: readonly VendorRoute[] = [
  { host: 'api.openai.com', path: /^\/v1\/chat\/completions$/, wire: CHAT },
  { host: 'api.openai.com', path: /^\/v1\/responses$/, wire: RESPONSES },
  { host: 'api.openai.com', path: /^\/v1\/embeddings$/, wire: EMBEDDINGS },
  { host: 'api.anthropic.com', path: /^\/v1\/messages$/, wire: ANTHROPIC },
  { host: 'generativelanguage.googleapis.com', path: google('/v1(?:beta)?'), wire: GEMINI },
  {
    host: VERTEX_HOST,
    path: google('/v1(?:beta1)?(?:/projects/[^/]+/locations/[^/]+)?/publishers/google'),
    wire: GEMINI,
  },
  { host: AZURE_HOST, path: /^\/openai\/deployments\/(?<model>[^/]+)\/chat\/completions$/, wire: CHAT },
  { host: 'api.groq.com', path: /^\/openai\/v1\/chat\/completions$/, wire: CHAT },
  { host: 'api.mistral.ai', path: /^\/v1\/chat\/completions$/, wire: MISTRAL },
  { host: 'api.x.ai', path: /^\/v1\/chat\/completions$/, wire: CHAT },
  { host: 'api.cohere.com', path: /^\/v2\/chat$/, wire: COHERE },
  { host: GATEWAY_HOST, path: /^\/llm\/v1\/chat\/completions$/, wire: CHAT },
  { host: null, path: /^\/api\/chat$/, wire: OLLAMA },
];

/** The hosts that the vendor's certificate is for. */
export const VENDOR_HOSTS: readonly string[] = [
  ...new Set(VENDOR_ROUTES.flatMap(({ host }) => (host === null ? [] : [host]))),
];

/** The end of every path, for clients without a sidecar: each puts another prefix in front of it. */
const ENDS: readonly Omit<VendorRoute, 'host'>[] = [
  { path: /\/mistral\/v1\/chat\/completions$/, wire: MISTRAL },
  { path: /(?:\/deployments\/(?<model>[^/]+))?\/chat\/completions$/, wire: CHAT },
  { path: /\/responses$/, wire: RESPONSES },
  { path: /\/embeddings$/, wire: EMBEDDINGS },
  { path: /\/messages$/, wire: ANTHROPIC },
  { path: /\/models\/(?<model>[^/:]+):(?:(?<stream>streamGenerateContent)|generateContent)$/, wire: GEMINI },
  { path: /\/cohere(?:\/v2)?\/chat$/, wire: COHERE },
  { path: /\/api\/chat$/, wire: OLLAMA },
];

export interface FoundRoute {
  wire: LaneWire;
  model: string | null;
  isStream: boolean;
}

/**
 * The route of a request; null: the vendor does not serve it.
 * @param host of a request over TLS; null: a client without a sidecar, or Ollama
 */
export function vendorRoute(host: string | null, path: string): FoundRoute | null {
  const routes = host === null ? ENDS : VENDOR_ROUTES.filter((route) => route.host === host);
  for (const { path: pattern, wire } of routes) {
    const match = pattern.exec(path);
    if (match !== null)
      return {
        wire,
        model: match.groups?.['model'] ?? null,
        isStream: match.groups?.['stream'] !== undefined,
      };
  }
  return null;
}
