import type { LaneVariable, ModelApi, PathPrefix, WireRoute } from './vendor.ts';

/** An API that is compatible with OpenAI's. */
export const openAiLike = (baseUrl: string | null, checkPath = '/models'): ModelApi => ({
  baseUrl,
  checkPath,
  keyHeader: 'authorization',
  headers: {},
  rejected: [],
  openAiPath: '',
});

/** A variable that the injector adds, with this path after the address of the lane. */
export const added = (name: string, path = ''): LaneVariable => ({ name, added: path });
/** A variable that the injector only rewrites. */
export const rewritten = (name: string): LaneVariable => ({ name, added: null });

/** The version of an API in a path. */
export const VERSION = String.raw`/v\d+(?:alpha|beta)?\d*`;
export const OPENAI_PREFIX: PathPrefix = { pattern: VERSION, canonical: '/v1', resources: /^\/./ };

/** OpenAI's chat completions, which other vendors serve as well. Azure, and gateways in its form, have the model in the path. */
export const CHAT: WireRoute = {
  path: /(?:\/(?:deployments|engines)\/(?<model>[^/]+)(?:\/.*)?)?\/chat\/completions$/,
  wire: 'chat',
};

export const OPENAI_ROUTES: readonly WireRoute[] = [
  CHAT,
  { path: /\/responses$/, wire: 'responses' },
  { path: /(?:\/(?:deployments|engines)\/(?<model>[^/]+)(?:\/.*)?)?\/embeddings$/, wire: 'embeddings' },
];

/** Google's own API. Vertex has tuned models as endpoints. */
export const GENERATE_CONTENT: WireRoute = {
  path: /\/(?:models|tunedModels|endpoints)\/(?<model>[^/:]+):(?:(?<stream>streamGenerateContent)|generateContent)$/,
  wire: 'gemini',
};
