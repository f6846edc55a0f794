import {
  COMMON_FIELDS,
  manifestMount,
  noApiMount,
  nodeOptions,
  NODE_IMAGE_ARGS,
  probeOf,
  resourcesOf,
  type InjectionPlan,
} from './build-sidecar.ts';
import {
  ENGINE_CONTAINER,
  ENGINE_HEALTH_PORT,
  ENGINE_PATH,
  ENGINE_PORT,
  ENGINE_SOCKET,
  POLICY_RULES_CONTAINER,
  VOLUMES,
} from './names.ts';
import type { Container, Volume } from './pod.ts';
import { parseQuantity } from './quantity.ts';
import type { EngineSettings, InjectionSettings } from './settings.ts';

const RULES_PATH = '/policy';

/**
 * The init container that renders the mounted manifest into rules, then the engine that evaluates them. Both precede the
 * sidecar, so that the engine runs for as long as the sidecar does. Empty when the settings contain no engine.
 */
export function buildEngine(plan: InjectionPlan, settings: InjectionSettings): Container[] {
  if (typeof settings.engine === 'string') return [];
  const pull = settings.imagePullPolicy;
  return [renderStep(plan, pull), engine(settings.engine, pull)];
}

/** Rules are a few kilobytes, and a socket has no size; the limits prevent a bug from filling the node's disk. */
export function buildEngineVolumes(settings: InjectionSettings): Volume[] {
  return typeof settings.engine === 'string'
    ? []
    : [
        { name: VOLUMES.policy, emptyDir: { sizeLimit: '4Mi' } },
        { name: VOLUMES.engine, emptyDir: { sizeLimit: '1Mi' } },
      ];
}

function renderStep(plan: InjectionPlan, imagePullPolicy: string): Container {
  return {
    name: POLICY_RULES_CONTAINER,
    image: plan.image,
    imagePullPolicy,
    args: [...NODE_IMAGE_ARGS, 'render-policy', RULES_PATH],
    env: [
      { name: 'MANIFEST_PATH', value: '/manifest/agent.yaml' },
      { name: 'NODE_OPTIONS', value: nodeOptions(plan.memoryLimit) },
    ],
    resources: resourcesOf(plan),
    ...COMMON_FIELDS,
    volumeMounts: [manifestMount, { name: VOLUMES.policy, mountPath: RULES_PATH }, noApiMount],
  };
}

function engine({ image, resources }: EngineSettings, imagePullPolicy: string): Container {
  const health = { path: '/health', port: ENGINE_HEALTH_PORT, scheme: 'HTTP' };
  return {
    name: ENGINE_CONTAINER,
    image,
    imagePullPolicy,
    restartPolicy: 'Always',
    args: [
      'run',
      '--server',
      `--addr=127.0.0.1:${ENGINE_PORT}`,
      // For the sidecar, which queries it for every request that reports behavior. Other containers do not mount it.
      `--addr=unix://${ENGINE_SOCKET}`,
      // The kubelet cannot reach loopback. This address serves only /health and /metrics, no policy queries.
      `--diagnostic-addr=:${ENGINE_HEALTH_PORT}`,
      '--ignore=.*',
      '--log-level=error',
      '--skip-version-check',
      RULES_PATH,
    ],
    env: [{ name: 'GOMEMLIMIT', value: `${goMebibytes(resources.memoryLimit)}MiB` }],
    resources: resourcesOf(resources),
    startupProbe: probeOf(health, { periodSeconds: 1, failureThreshold: 120 }),
    livenessProbe: probeOf(health, { periodSeconds: 10, failureThreshold: 3 }),
    ...COMMON_FIELDS,
    volumeMounts: [
      { name: VOLUMES.policy, mountPath: RULES_PATH, readOnly: true },
      { name: VOLUMES.engine, mountPath: ENGINE_PATH },
      noApiMount,
    ],
  };
}

/** The soft memory limit of Go, 80 % of the container's limit: garbage is collected more often before the limit is reached. */
function goMebibytes(memoryLimit: string): number {
  return Math.floor(((parseQuantity(memoryLimit) ?? 0) / 2 ** 20) * 0.8);
}
