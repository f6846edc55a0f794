import type { RequestListener } from 'node:http';
import { ANNOTATIONS } from '../../core/injection/annotations.ts';
import type { OrganisationFinding } from '../../core/shapes/organisation.ts';
import { listen, type Listener } from '../../runtime/http-listener.ts';
import { loadManifestFile, type LoadedManifest } from '../../runtime/manifest-file.ts';
import type { SidecarConfig } from '../config.ts';
import { controlLimits } from '../control-limits.ts';
import { LoadLimits } from '../proxy/load-limits.ts';
import { processMemoryLimitBytes } from '../proxy/memory-limit.ts';
import type { ManifestOptions, ValidManifest } from './current-manifest.ts';

/** The kubelet needs longer for a changed ConfigMap. */
const RETRY_MS = 5_000;
const { name: PIN } = ANNOTATIONS.manifestSha256;

/** Why a manifest may not be used: the pod names another one. null: it may be used. */
export function pinProblem({ MANIFEST_SHA256: pin }: SidecarConfig, { hash }: ValidManifest): string | null {
  if (pin === null || pin === hash) return null;
  return `its SHA-256 is ${hash}, and the pod allows only ${pin} (${PIN})`;
}

/**
 * Reads the manifest file, and waits while the pod allows only another manifest. Meanwhile there is no proxy and no lane that could use
 * it; the control port responds to each request with 503, so that the kubelet does not start the agent.
 */
export async function loadPinned(options: Omit<ManifestOptions, 'signal'>): Promise<LoadedManifest> {
  const { config, logger, clock, stopped } = options;
  let problem: string | null = null;
  let waiting: Listener | null = null;
  try {
    for (;;) {
      const loaded = await loadManifestFile(config.MANIFEST_PATH);
      const found = loaded.ok ? pinProblem(config, loaded) : null;
      if (found === null) return loaded;
      if (found !== problem)
        logger.error('manifest not allowed by the pod, the agent does not start', { problem: found });
      problem = found;
      waiting ??= await listen({
        handler: respondWith(config, () => problem ?? ''),
        limits: controlLimits(new LoadLimits(processMemoryLimitBytes())),
        host: config.BIND_ADDRESS,
        port: config.CONTROL_PLANE_PORT,
        clock,
      });
      await clock.sleep(RETRY_MS, stopped);
    }
  } finally {
    await waiting?.close(0);
  }
}

/** The same shape as `/readyz` of a manifest that a rule of the organisation does not allow. */
function respondWith(
  { POLICY_PROXY_MODE: mode, POLICY_ENGINE: engine }: SidecarConfig,
  problem: () => string,
): RequestListener {
  return (_request, response) => {
    const finding: OrganisationFinding = {
      ...{ policy: PIN, rule: 'pin', severity: 'critical', action: 'Deny', path: '' },
      message: problem(),
    };
    response.writeHead(503, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ status: 'not-allowed', policy: { mode, engine }, findings: [finding] }));
  };
}
