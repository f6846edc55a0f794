import type { manifest } from './schema.ts';
import type { ValueOf } from './schema-node.ts';

type Entry<L> = NonNullable<L> extends (infer E)[] ? E : never;

/**
 * The parsed, valid manifest (`agent.yaml`), as the schema describes it. References are not resolved yet.
 * Only parse-manifest.ts creates values of this type.
 */
export interface Manifest extends ValueOf<typeof manifest> {}
export type ManifestSpec = Manifest['spec'];
export type Model = ManifestSpec['model'];
export type ModelPrice = NonNullable<Model['prices']>[string];
export type Tool = Entry<ManifestSpec['tools']>;
export type McpServer = Entry<NonNullable<ManifestSpec['mcp']>['servers']>;
export type Memory = NonNullable<ManifestSpec['memory']>;
export type RequiredService = Entry<NonNullable<ManifestSpec['requires']>['services']>;
export type Guardrail = Entry<NonNullable<ManifestSpec['guardrails']>['input']>;
export type GuardrailType = Guardrail['type'];
export type Api = NonNullable<ManifestSpec['api']>;
export type Subagent = Entry<ManifestSpec['subagents']>;

/** One problem of a manifest file: its position, a message, and optionally the key or value that was probably meant. */
export interface ManifestProblem {
  /** Manifest path, for example `spec.tools[0].name`; empty for the document itself. */
  path: string;
  message: string;
  /** 1-based. */
  line: number;
  /** 1-based. */
  column: number;
  suggestion?: string;
}

export type ParsedManifest =
  | { ok: true; manifest: Manifest }
  /** `warnings`: the secrets in a file that has problems as well. */
  | { ok: false; problems: ManifestProblem[]; warnings?: ManifestProblem[] };

/** The default paths of the agent's endpoints, for a manifest that declares no path. */
export const DEFAULT_PATHS = { health: '/health', capabilities: '/capabilities' } as const;
