import { namedLanes } from '../../core/egress/lane-annotation.ts';
import { routeLanes } from '../../core/injection/egress-lanes.ts';
import type { Addresses, ClientRow } from './client-row.ts';

/** The variables with the key of each vendor. Each vendor has a key of its own, so that a key at another vendor is seen. */
const KEYS: Readonly<Record<ClientRow['lane'], readonly string[]>> = {
  openai: ['OPENAI_API_KEY'],
  anthropic: ['ANTHROPIC_API_KEY'],
  gemini: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  vertex: ['GOOGLE_API_KEY'],
  azure: ['AZURE_OPENAI_API_KEY', 'AZURE_API_KEY'],
  groq: ['GROQ_API_KEY'],
  mistral: ['MISTRAL_API_KEY'],
  cohere: ['CO_API_KEY', 'COHERE_API_KEY'],
  xai: ['XAI_API_KEY'],
  ollama: [],
  'compatible:corp': ['LLM_KEY'],
};

/** null: Ollama needs none. */
export const keyOf = (lane: ClientRow['lane']): string | null =>
  KEYS[lane].length === 0 ? null : `key-of-${lane.replace(':', '-')}`;

const keysOf = (lane: ClientRow['lane']): Record<string, string> =>
  Object.fromEntries(KEYS[lane].map((name) => [name, keyOf(lane) ?? '']));

/** An agent's environment before and after injection. */
export interface LaneEnvironment {
  /** `lane=upstream` entries of EGRESS_LANES. */
  lanes: string[];
  /** What the program gets with a sidecar. */
  throughLane: Record<string, string>;
  /** The same addresses at the vendor itself, without TLS. */
  direct: Record<string, string>;
  /** Every variable that injection writes. */
  written: Record<string, string>;
}

type Subject = Pick<ClientRow, 'lane' | 'variable' | 'before' | 'options'>;

/** What the injector makes of the row's environment for lanes on this port. */
export function laneEnvironment(
  { lane, variable, before, options = {} }: Subject,
  at: Addresses,
  port: number,
): LaneEnvironment {
  const given = { ...keysOf(lane), ...before?.(at) };
  const annotation = lane.includes(':') ? `${lane}=${variable}` : lane;
  const container = {
    name: 'agent',
    env: Object.entries(given).map(([name, value]) => ({ name, value })),
  };
  const { written, upstreams, problems } = routeLanes(container, namedLanes(annotation), port);
  const values = Object.fromEntries(written.map(({ name, value }) => [name, value]));
  const value = values[variable];
  if (value === undefined || problems.length > 0)
    throw new Error(`${variable} of the lane ${lane} is not written: ${problems.join(', ')}`);
  const others = { ...given, ...options };
  return {
    lanes: upstreams.map((route) => `${route.lane}=${route.upstream}`),
    throughLane: { ...others, [variable]: value },
    direct: { ...others, [variable]: value.replace(`http://127.0.0.1:${port}`, at.plain) },
    written: values,
  };
}
