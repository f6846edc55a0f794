import { annotationDefaults } from '../../core/injection/annotations.ts';
import type { Container, Pod, PodMetadata } from '../../core/injection/pod.ts';
import type { InjectionSettings } from '../../core/injection/settings.ts';

export const CA = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

/** An installation's settings, with overrides. */
export function injectionSettings(overrides: Partial<InjectionSettings> = {}): InjectionSettings {
  return {
    ...annotationDefaults((_key, chart) => chart.default),
    image: 'registry.example/agent-compliance/sidecar:1.0.0',
    imagePullPolicy: 'IfNotPresent',
    allowedImages: [],
    engine: 'builtin',
    minimumMode: 'off',
    minimumCompliantGrade: 'F',
    minimumCompliantEvidence: 0,
    heartbeatSeconds: 30,
    organisationOnUnknown: 'start',
    controlPlaneUrl: 'https://agent-compliance-control-plane.platform-system.svc:8080',
    proofWrites: 'local',
    llmAnalysis: null,
    otlpCollector: null,
    ca: CA,
    version: '1.0.0',
    configHash: 'c0ffee',
    ...overrides,
  };
}

/** An opted-in bare pod `chat` with one container, with overrides. */
export function optedInPod(
  overrides: {
    annotations?: Record<string, string>;
    metadata?: Partial<PodMetadata>;
    container?: Partial<Container>;
    spec?: Partial<Pod['spec']>;
  } = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'chat',
      ...overrides.metadata,
      annotations: { 'platform.io/inject': 'true', ...overrides.annotations },
    },
    spec: {
      containers: [
        {
          name: 'agent',
          image: 'agent:1',
          ports: [{ name: 'http', containerPort: 8000, protocol: 'TCP' }],
          ...overrides.container,
        },
      ],
      ...overrides.spec,
    },
  };
}
