import type { Manifest } from '../../core/manifest/manifest.ts';

/** Parts of a manifest that a generated project does not implement. */
const PARTS: readonly (readonly [path: string, isDeclared: (manifest: Manifest) => boolean])[] = [
  ['spec.model.fallback', ({ spec }) => spec.model.fallback !== undefined],
  ['spec.prompts.hotReload', ({ spec }) => spec.prompts?.hotReload === true],
  ['spec.mcp.servers', ({ spec }) => (spec.mcp?.servers ?? []).length > 0],
  ['spec.memory', ({ spec }) => spec.memory !== undefined],
  ['spec.observability', ({ spec }) => spec.observability !== undefined],
  ['spec.api.type', ({ spec }) => (spec.api?.type ?? 'rest') !== 'rest'],
  ['spec.api.pathPrefix', ({ spec }) => spec.api?.pathPrefix !== undefined],
  ['spec.api.a2a', ({ spec }) => spec.api?.a2a !== undefined],
  ['spec.api.auth', ({ spec }) => (spec.api?.auth?.type ?? 'none') !== 'none'],
  ['spec.api.rateLimit', ({ spec }) => spec.api?.rateLimit !== undefined],
  ['spec.api.streaming', ({ spec }) => spec.api?.streaming === true],
  ['spec.api.metricsEndpoint', ({ spec }) => spec.api?.metricsEndpoint !== undefined],
  ['spec.api.corsOrigins', ({ spec }) => (spec.api?.corsOrigins ?? []).length > 0],
  ['spec.subagents', ({ spec }) => (spec.subagents ?? []).length > 0],
  ['spec.humanInTheLoop', ({ spec }) => spec.humanInTheLoop?.enabled === true],
];

/** Paths of the declared parts that a developer has to add to the project. */
export function notGenerated(manifest: Manifest): string[] {
  return PARTS.flatMap(([path, isDeclared]) => (isDeclared(manifest) ? [path] : []));
}
