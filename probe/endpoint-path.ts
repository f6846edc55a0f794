import { type Manifest, DEFAULT_PATHS } from '../core/manifest/manifest.ts';
import { resolveReference, type ReferenceSources } from './references.ts';

/** Where one endpoint of the agent is probed. */
export interface EndpointPath {
  /** Includes the query. */
  path: string;
  /** Why the default path is probed instead of the declared path. */
  unresolved?: string;
}

/** The paths of the endpoints that a manifest may declare. */
export interface EndpointPaths {
  health: EndpointPath;
  capabilities: EndpointPath;
}

const PATH = /^\/\S*$/;

/** The declared paths. A default path is used when none is declared or its reference cannot be resolved here. */
export async function endpointPaths(
  { spec: { api } }: Manifest,
  sources: ReferenceSources,
): Promise<EndpointPaths> {
  const [health, capabilities] = await Promise.all([
    pathOf(api?.healthEndpoint, DEFAULT_PATHS.health, sources),
    pathOf(api?.capabilitiesEndpoint, DEFAULT_PATHS.capabilities, sources),
  ]);
  return { health, capabilities };
}

async function pathOf(
  declared: string | undefined,
  fallback: string,
  sources: ReferenceSources,
): Promise<EndpointPath> {
  if (declared === undefined) return { path: fallback };
  const resolved = await resolveReference(declared, sources);
  if (!resolved.ok) return { path: fallback, unresolved: resolved.reason };
  // Files end with a line feed that is not part of the path.
  const path = resolved.value.trimEnd();
  return PATH.test(path)
    ? { path }
    : { path: fallback, unresolved: 'the value is not a path that begins with /' };
}
