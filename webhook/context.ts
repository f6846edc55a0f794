import { createHash } from 'node:crypto';
import type { InjectionSettings } from '../core/injection/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { VERSION } from '../runtime/version.ts';
import type { WebhookConfig } from './config.ts';

/** What the routes need. */
export interface WebhookContext {
  logger: Logger;
  metrics: Metrics;
  clock: Clock;
  /** null until there is an authority that sidecars can be given. */
  settings(): InjectionSettings | null;
  /** null: this process serves; else the reason why not, for `/readyz`. */
  unready(): string | null;
}

/** The installation's settings for sidecars, all but the authorities, which change while the process runs. */
export function settingsOf(config: WebhookConfig): Omit<InjectionSettings, 'ca'> {
  const settings = {
    image: config.SIDECAR_IMAGE,
    imagePullPolicy: config.SIDECAR_IMAGE_PULL_POLICY,
    allowedImages: config.SIDECAR_ALLOWED_IMAGES,
    resources: {
      cpuRequest: config.SIDECAR_CPU_REQUEST,
      cpuLimit: config.SIDECAR_CPU_LIMIT,
      memoryRequest: config.SIDECAR_MEMORY_REQUEST,
      memoryLimit: config.SIDECAR_MEMORY_LIMIT,
    },
    logLevel: config.SIDECAR_LOG_LEVEL,
    engine: engineOf(config),
    mode: config.POLICY_MODE,
    minimumMode: config.POLICY_MINIMUM_MODE,
    heartbeatSeconds: config.HEARTBEAT_SECONDS,
    controlPlaneUrl: `https://${config.CONTROL_PLANE_SERVICE}.${config.POD_NAMESPACE}.svc:${config.CONTROL_PLANE_PORT}`,
    version: VERSION,
  };
  const configHash = createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 12);
  return { ...settings, configHash };
}

function engineOf(config: WebhookConfig): InjectionSettings['engine'] {
  if (config.POLICY_ENGINE !== 'opa') return config.POLICY_ENGINE;
  if (config.OPA_IMAGE === null)
    throw new Error('the configuration lets no engine through without its image');
  return {
    image: config.OPA_IMAGE,
    resources: {
      cpuRequest: config.OPA_CPU_REQUEST,
      cpuLimit: config.OPA_CPU_LIMIT,
      memoryRequest: config.OPA_MEMORY_REQUEST,
      memoryLimit: config.OPA_MEMORY_LIMIT,
    },
  };
}

/** The names under which a Service of the release is reached; loopback for a port forward. */
export function hostsOf(service: string, namespace: string): string[] {
  const name = `${service}.${namespace}.svc`;
  return [name, `${name}.cluster.local`, `${service}.${namespace}`, service, 'localhost', '127.0.0.1'];
}
