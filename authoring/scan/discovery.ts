import type { GuardrailType, McpServer, Tool } from '../../core/manifest/manifest.ts';
import type { Setting } from './code.ts';
import type { Place } from './source.ts';

/** Hints of a tool about the effects of a call. */
export const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

/** What one pattern found. `Discovery` adds the place. */
export type Found =
  | { kind: 'framework'; name: string }
  | ModelFound
  | ToolFound
  | McpFound
  | GuardrailFound
  | StoreFound
  | RouteFound
  | { kind: 'port'; port: number }
  | { kind: 'apiType'; type: 'mcp' }
  | { kind: 'tracing'; backend: string }
  | { kind: 'metrics'; backend: string }
  | { kind: 'logging'; backend: string }
  | { kind: 'evaluation'; framework: string };

export interface ModelFound {
  kind: 'model';
  /** Null: only the model id is known. */
  provider: string | null;
  id: Setting;
  /** Variable of the API key. */
  keyVariable: string | null;
  temperature: number | null;
}

export interface ToolFound {
  kind: 'tool';
  name: string;
  type: NonNullable<Tool['type']>;
  description: string | null;
  module: string | null;
  function: string | null;
  annotations: NonNullable<Tool['annotations']>;
}

export interface McpFound {
  kind: 'mcp';
  /** Null: the name is derived from the address. */
  name: string | null;
  transport: NonNullable<McpServer['transport']>;
  url: Setting | null;
  command: string | null;
  /** Null: an argument is not a literal. */
  args: string[] | null;
  /** Variables that the server gets, by name. */
  env: Record<string, string>;
}

export interface GuardrailFound {
  kind: 'guardrail';
  where: 'input' | 'output';
  type: GuardrailType;
  action: string | null;
  module: string | null;
  /** Of a custom guardrail. */
  function: string | null;
}

export interface StoreFound {
  kind: 'store';
  /** `service`: a store that the agent needs, but not as its memory. */
  role: 'shortTerm' | 'longTerm' | 'vector' | 'service';
  backend: string;
  address: Setting | null;
}

export interface RouteFound {
  kind: 'route';
  method: string;
  path: string;
}

/** Something that a pattern found in the code. */
export type Discovery = Found & {
  place: Place;
};

export type FoundOf<K extends Found['kind']> = Extract<Found, { kind: K }>;
export type DiscoveryOf<K extends Found['kind']> = FoundOf<K> & Discovery;
