/**
 * The lanes: paths of the sidecar on loopback, each in front of one vendor of models or one MCP server. An agent reaches its
 * vendor through a lane because the vendor's base URL in its environment is the address of the lane.
 */
export const LANE_KINDS = [
  'openai',
  'anthropic',
  'gemini',
  'vertex',
  'azure',
  'groq',
  'mistral',
  'cohere',
  'ollama',
  'compatible',
  'mcp',
] as const;
export type LaneKind = (typeof LANE_KINDS)[number];

/** The form of errors that the clients of a lane understand. */
export type LaneFamily = 'openai' | 'anthropic' | 'gemini' | 'cohere' | 'ollama' | 'mcp';

export interface Lane {
  /** `openai`, `compatible:corp`, `mcp:files`. */
  id: string;
  kind: LaneKind;
  /** The part after the colon; null: this kind has one lane. */
  name: string | null;
  /** Where the lane forwards to. Its path goes in front of the path of a request. */
  upstream: URL;
}

/** A variable from which clients read their base URL. */
export interface LaneVariable {
  name: string;
  /** The path of its value below the address of the sidecar. */
  path: string;
}

export interface LaneRow {
  family: LaneFamily;
  /** The upstream of a lane whose variable is not set; null: there is no common one. */
  upstream: string | null;
  /** true: the lane has a name, so that there can be several: `compatible:<name>`. */
  isNamed?: true;
  /** The variables that the injector sets, the vendor's own first. Variables of libraries follow: they are only rewritten. */
  variables: readonly LaneVariable[];
}

/** One row per kind. The variables were tried with the clients that read them. */
export const LANES: Readonly<Record<LaneKind, LaneRow>> = {
  openai: {
    family: 'openai',
    upstream: 'https://api.openai.com/v1',
    variables: [
      { name: 'OPENAI_BASE_URL', path: '/openai/v1' },
      { name: 'OPENAI_API_BASE', path: '/openai/v1' },
    ],
  },
  anthropic: {
    family: 'anthropic',
    upstream: 'https://api.anthropic.com',
    variables: [
      { name: 'ANTHROPIC_BASE_URL', path: '/anthropic' },
      { name: 'ANTHROPIC_API_BASE', path: '/anthropic' },
    ],
  },
  gemini: {
    family: 'gemini',
    upstream: 'https://generativelanguage.googleapis.com',
    variables: [
      { name: 'GOOGLE_GEMINI_BASE_URL', path: '/gemini' },
      { name: 'GEMINI_API_BASE', path: '/gemini' },
    ],
  },
  vertex: {
    family: 'gemini',
    upstream: 'https://aiplatform.googleapis.com',
    variables: [
      { name: 'GOOGLE_VERTEX_BASE_URL', path: '/vertex' },
      { name: 'ANTHROPIC_VERTEX_BASE_URL', path: '/vertex/v1' },
    ],
  },
  azure: {
    family: 'openai',
    upstream: null,
    variables: [
      { name: 'AZURE_OPENAI_ENDPOINT', path: '/azure' },
      { name: 'AZURE_API_BASE', path: '/azure' },
    ],
  },
  groq: {
    family: 'openai',
    upstream: 'https://api.groq.com',
    variables: [
      { name: 'GROQ_BASE_URL', path: '/groq' },
      { name: 'GROQ_API_BASE', path: '/groq/openai/v1' },
    ],
  },
  mistral: {
    family: 'openai',
    upstream: 'https://api.mistral.ai/v1',
    variables: [
      { name: 'MISTRAL_BASE_URL', path: '/mistral/v1' },
      { name: 'MISTRAL_AZURE_API_BASE', path: '/mistral/v1' },
    ],
  },
  cohere: {
    family: 'cohere',
    upstream: 'https://api.cohere.com',
    variables: [
      { name: 'CO_API_URL', path: '/cohere' },
      { name: 'COHERE_API_BASE', path: '/cohere/v2/chat' },
    ],
  },
  ollama: {
    family: 'ollama',
    upstream: 'http://127.0.0.1:11434',
    variables: [
      { name: 'OLLAMA_HOST', path: '/ollama' },
      { name: 'OLLAMA_API_BASE', path: '/ollama' },
    ],
  },
  compatible: { family: 'openai', upstream: null, isNamed: true, variables: [] },
  mcp: { family: 'mcp', upstream: null, isNamed: true, variables: [] },
};

/** The limit bounds the labels of the metrics. */
export const MAX_LANES = 32;
/** Also a segment of the lane's path. */
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The path of a lane on the sidecar, such as `/openai` or `/mcp/files`. */
export function lanePathOf({ kind, name }: Pick<Lane, 'kind' | 'name'>): string {
  return name === null ? `/${kind}` : `/${kind}/${name}`;
}

/** Reads EGRESS_LANES: comma-separated `lane=upstream`. */
export function parseLanes(text: string): { lanes: Lane[] } | { problem: string } {
  const lanes: Lane[] = [];
  for (const entry of entriesOf(text)) {
    const [id, address] = split(entry);
    const named = namedLane(id);
    if (typeof named === 'string') return { problem: named };
    if (address === null) return { problem: `${id} has no upstream: lane=upstream is required` };
    const upstream = upstreamOf(named.kind, address);
    if (typeof upstream === 'string') return { problem: `${id}: ${upstream}` };
    lanes.push({ id, ...named, upstream });
  }
  return problemOf(lanes) ?? { lanes };
}

/** A lane of the pod annotation. */
export interface RequestedLane extends Pick<Lane, 'id' | 'kind' | 'name'> {
  /** The variable with the URL of a `compatible` or `mcp` lane; null: those of the kind. */
  variable: string | null;
}

/** Reads the annotation `platform.io/egress-lanes`, such as `openai,mcp:files=FILES_MCP_URL`. */
export function parseRequestedLanes(text: string): { lanes: RequestedLane[] } | { problem: string } {
  const lanes: RequestedLane[] = [];
  for (const entry of entriesOf(text)) {
    const [id, variable] = split(entry);
    const named = namedLane(id);
    if (typeof named === 'string') return { problem: named };
    if (LANES[named.kind].isNamed === true && variable === null)
      return { problem: `${id} has no variable: ${id}=VARIABLE is required` };
    if (LANES[named.kind].isNamed !== true && variable !== null)
      return { problem: `${id} must not have a variable` };
    if (variable !== null && !VARIABLE.test(variable))
      return { problem: `${id}: the name of the variable is not valid` };
    lanes.push({ id, ...named, variable });
  }
  return problemOf(lanes) ?? { lanes };
}

const entriesOf = (text: string): string[] => text.split(',').map((entry) => entry.trim());

function split(entry: string): [id: string, value: string | null] {
  const at = entry.indexOf('=');
  return at < 0 ? [entry, null] : [entry.slice(0, at).trim(), entry.slice(at + 1).trim()];
}

/** The kind and the name of a lane, or why its id is not valid. */
function namedLane(id: string): Pick<Lane, 'kind' | 'name'> | string {
  const [prefix = '', ...rest] = id.split(':');
  const kind = LANE_KINDS.find((each) => each === prefix);
  const name = rest.length === 0 ? null : rest.join(':');
  // The text may be a URL with a key, so it is not repeated.
  if (kind === undefined) return `a lane must be one of ${LANE_KINDS.map(idForm).join(', ')}`;
  if (LANES[kind].isNamed !== true) return name === null ? { kind, name } : `${kind} must not have a name`;
  if (name === null || !NAME.test(name))
    return `${kind} requires a name of 1 to 63 letters, digits, ".", "_" and "-": ${idForm(kind)}`;
  return { kind, name };
}

const idForm = (kind: LaneKind): string => (LANES[kind].isNamed === true ? `${kind}:<name>` : kind);

/** The upstream, or why it is not valid. */
function upstreamOf(kind: LaneKind, address: string): URL | string {
  const url = URL.parse(address);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.hostname === '')
    return 'the upstream must be a URL with the https: or http: protocol';
  if (url.username + url.password !== '' || url.hash !== '')
    return 'the upstream must not have credentials or a fragment';
  // An MCP server may need a query, and a request has none of its own.
  if (url.search !== '' && kind !== 'mcp') return 'the upstream must not have a query';
  return url;
}

function problemOf(lanes: readonly Pick<Lane, 'id'>[]): { problem: string } | null {
  const ids = lanes.map(({ id }) => id);
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated !== undefined) return { problem: `${repeated} is set twice` };
  return lanes.length > MAX_LANES ? { problem: `there are more than ${MAX_LANES} lanes` } : null;
}
