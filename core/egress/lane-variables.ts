/** A variable of the environment in which clients of a vendor look up its address. */
export interface LaneVariable {
  name: string;
  /** What follows the lane's own address in a variable that the injector adds; null: never added, only rewritten. */
  added: string | null;
  /** Not added to an agent that may use Azure: a client for Azure prefers this variable, and would send its key to this lane. */
  isWrongWithAzure?: true;
}

/** How clients of one vendor are sent to its lane. */
export interface VendorLane {
  /** The vendor's public address; null: it depends on the customer's resource or region. */
  upstream: string | null;
  /** The ends of base URLs that belong to the vendor's API and not to a gateway in front of it. */
  endings: readonly string[];
  variables: readonly LaneVariable[];
  /** The port of a value without a scheme, such as `ollama:11434`; absent: a value needs a scheme. */
  bareHostPort?: number;
}

const added = (name: string, path = ''): LaneVariable => ({ name, added: path });
const rewritten = (name: string): LaneVariable => ({ name, added: null });

/**
 * The lanes of vendors, and the variables that real clients were seen to follow (docs/decisions/0093). A variable is added only
 * where every client that reads it accepts the value: `COHERE_API_BASE` is the address of chat for one function of LiteLLM, and of
 * the whole API for another.
 */
export const VENDOR_LANES = {
  openai: {
    upstream: 'https://api.openai.com',
    endings: ['/v1'],
    variables: [{ ...added('OPENAI_BASE_URL', '/v1'), isWrongWithAzure: true }, rewritten('OPENAI_API_BASE')],
  },
  anthropic: {
    upstream: 'https://api.anthropic.com',
    endings: ['/v1'],
    variables: [added('ANTHROPIC_BASE_URL'), rewritten('ANTHROPIC_API_BASE')],
  },
  gemini: {
    upstream: 'https://generativelanguage.googleapis.com',
    endings: ['/v1beta', '/v1'],
    variables: [added('GOOGLE_GEMINI_BASE_URL'), added('GEMINI_API_BASE')],
  },
  vertex: {
    upstream: null,
    endings: ['/v1beta1', '/v1'],
    variables: [rewritten('GOOGLE_VERTEX_BASE_URL'), rewritten('ANTHROPIC_VERTEX_BASE_URL')],
  },
  azure: {
    upstream: null,
    endings: ['/openai/v1'],
    variables: [rewritten('AZURE_OPENAI_ENDPOINT'), rewritten('AZURE_API_BASE')],
  },
  groq: {
    upstream: 'https://api.groq.com',
    endings: ['/openai/v1'],
    variables: [added('GROQ_BASE_URL'), added('GROQ_API_BASE')],
  },
  mistral: {
    upstream: 'https://api.mistral.ai',
    endings: ['/v1'],
    variables: [added('MISTRAL_BASE_URL', '/v1'), added('MISTRAL_AZURE_API_BASE', '/v1')],
  },
  cohere: {
    upstream: 'https://api.cohere.com',
    endings: ['/v2/chat', '/v2', '/v1'],
    variables: [added('CO_API_URL'), rewritten('COHERE_API_BASE')],
  },
  ollama: {
    upstream: 'http://127.0.0.1:11434',
    endings: [],
    variables: [added('OLLAMA_HOST'), added('OLLAMA_API_BASE')],
    bareHostPort: 11434,
  },
} as const satisfies Readonly<Record<string, VendorLane>>;

export type VendorLaneName = keyof typeof VENDOR_LANES;

/** The kinds of lanes that an annotation names together with a variable: any vendor with OpenAI's API, and MCP servers. */
export const NAMED_LANE_KINDS = ['compatible', 'mcp'] as const;

/** For example `openai`, `compatible:corp` or `mcp:files`. */
export type LaneId = VendorLaneName | `${(typeof NAMED_LANE_KINDS)[number]}:${string}`;

/** The most lanes of one sidecar. The limit bounds the labels of its metrics. */
export const MAX_LANES = 32;

/** The path of a lane, for example `/openai` or `/mcp/files`. */
export const lanePath = (id: LaneId): string => `/${id.replace(':', '/')}`;

/** The beginnings of the names of variables that only agents with Azure OpenAI have. */
export const AZURE_VARIABLES: readonly string[] = [
  'AZURE_OPENAI_',
  'AZURE_API_',
  'OPENAI_API_VERSION',
  'OPENAI_API_TYPE',
];
