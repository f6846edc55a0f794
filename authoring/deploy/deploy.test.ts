import { describe, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { FULL_MANIFEST, manifestText } from '../../testing/manifests/manifest-text.ts';
import { injectionSettings } from '../../testing/cluster/pods.ts';
import { injectManifests } from '../../core/injection/inject-manifests.ts';
import type { Container, Volume } from '../../core/injection/pod.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { parseImage } from './image.ts';
import { objectNameOf, planDeployment, type PlannedDeployment } from './plan.ts';
import { deployFiles, nextSteps, type DeployTarget } from './targets.ts';

const SIDECAR_IMAGE = 'agent-compliance/sidecar:1.0.0';

function planned(text: string, sendsHeartbeats = false): PlannedDeployment {
  const parsed = parseManifest(text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return planDeployment(parsed.manifest, {
    manifestText: text,
    sidecarImage: SIDECAR_IMAGE,
    sendsHeartbeats,
  });
}

function planOf(text: string, sendsHeartbeats = false) {
  const result = planned(text, sendsHeartbeats);
  if (!result.ok) throw new Error(result.reason);
  return result.plan;
}

/** Contents by path. */
function generated(target: DeployTarget, text: string, sendsHeartbeats = false): Record<string, string> {
  const files = deployFiles(target, planOf(text, sendsHeartbeats));
  return Object.fromEntries(files.map(({ path, content }) => [path, content]));
}

interface Workload {
  metadata: { name: string };
  spec: {
    selector: { matchLabels: object };
    template: {
      metadata: { labels: object; annotations?: object };
      spec: { initContainers?: Container[]; containers: Container[]; volumes: Volume[] } & Record<
        string,
        unknown
      >;
    };
  };
}

const read = <T>(files: Record<string, string>, path: string): T => parse(files[path] ?? '') as T;
const podOf = (text: string, sendsHeartbeats = false) =>
  read<Workload>(generated('k8s', text, sendsHeartbeats), 'k8s/deployment.yaml').spec.template.spec;
const variablesOf = ({ env = [] }: Container) => Object.fromEntries(env.map((each) => [each.name, each]));
const named = (name: string) => manifestText().replace('name: minimal', `name: '${name}'`);
const modelled = (provider: string, id: string) =>
  manifestText().replace('provider: openai', `provider: ${provider}`).replace('id: gpt-4.1', `id: ${id}`);

describe('generate --deploy k8s', () => {
  const files = generated('k8s', FULL_MANIFEST);

  test('writes the files of command rule 2 and the manifest, the same in every run', () => {
    expect(Object.keys(files)).toEqual([
      'k8s/deployment.yaml',
      'k8s/service.yaml',
      'k8s/configmap.yaml',
      'k8s/manifest-configmap.yaml',
      'k8s/secret.yaml.example',
    ]);
    expect(generated('k8s', FULL_MANIFEST)).toEqual(files);
  });

  test('deployment.yaml has the agent, and the sidecar with the ports 4000 and 4001', () => {
    const { initContainers, containers } = read<Workload>(files, 'k8s/deployment.yaml').spec.template.spec;
    const portsOf = (each: Container) => each.ports?.map(({ containerPort }) => containerPort);
    expect(containers.map((each) => [each.name, each.image, portsOf(each)])).toEqual([
      ['agent', 'SET_AGENT_IMAGE', [8000]],
    ]);
    expect(initContainers?.map((each) => [each.name, each.image, each.restartPolicy, portsOf(each)])).toEqual(
      [['platform-sidecar', SIDECAR_IMAGE, 'Always', [4000, 4001]]],
    );
  });

  test('service.yaml is a ClusterIP with the port of the agent, 4000 and 4001', () => {
    const service = read<{
      spec: { type: string; ports: { name: string; port: number; targetPort: number }[] };
    }>(files, 'k8s/service.yaml');
    expect(service.spec.type).toBe('ClusterIP');
    expect(service.spec.ports.map(({ name, port, targetPort }) => [name, port, targetPort])).toEqual([
      ['agent', 8000, 8000],
      ['http', 4000, 4000],
      ['platform-ctl', 4001, 4001],
    ]);
  });

  test('configmap.yaml has AGENT_NAME, MODEL_PROVIDER and MODEL_ID', () => {
    expect(read(files, 'k8s/configmap.yaml')).toMatchObject({
      kind: 'ConfigMap',
      data: {
        AGENT_NAME: 'travel-planner',
        MODEL_PROVIDER: 'openai',
        MODEL_ID: 'gpt-4.1-2025-04-14',
      },
    });
  });

  test('secret.yaml.example has every $env: reference, required variable and secret', () => {
    const { stringData } = read<{ stringData: Record<string, string> }>(files, 'k8s/secret.yaml.example');
    expect(Object.keys(stringData).sort()).toEqual([
      'ANTHROPIC_API_KEY',
      'APPROVAL_WEBHOOK',
      'DATABASE_URL',
      'FILES_TOKEN',
      'LANGFUSE_PUBLIC_KEY',
      'PLATFORM_SECRET_LANGFUSE_KEY',
      'PLATFORM_SECRET_OPENAI_KEY',
      'PLATFORM_SECRET_VECTOR_KEY',
      'PLATFORM_SECRET_VISA_TOKEN',
      'REDIS_URL',
    ]);
    for (const [, name = ''] of FULL_MANIFEST.matchAll(/\$env:(\w+)/g))
      expect(stringData).toHaveProperty(name);
    expect(files['k8s/secret.yaml.example']).toContain(
      '  # Declared at spec.model.fallback.apiKey.\n  ANTHROPIC_API_KEY: CHANGE_ME\n',
    );
  });

  test('manifest-configmap.yaml has the manifest, character by character', () => {
    const odd = `${manifestText('  x-text: "a\\tb"   \n')}# end\r\n`;
    for (const text of [FULL_MANIFEST, odd])
      expect(read(generated('k8s', text), 'k8s/manifest-configmap.yaml')).toMatchObject({
        data: { 'agent.yaml': text },
      });
  });

  test('the pod has probes, resources and a restricted security context, and needs no API token', () => {
    const pod = podOf(FULL_MANIFEST);
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(pod.containers[0]).toMatchObject({
      startupProbe: { httpGet: { path: '/health', port: 8000 } },
      readinessProbe: { httpGet: { path: '/health', port: 8000 } },
      livenessProbe: { tcpSocket: { port: 8000 } },
      resources: { requests: { memory: '512Mi' }, limits: { memory: '1024Mi' } },
      securityContext: {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        readOnlyRootFilesystem: true,
      },
    });
  });

  test('the sidecar and its volumes are those of the injector, except for ports and access', () => {
    const workload = read<Workload>(generated('k8s', manifestText()), 'k8s/deployment.yaml');
    const pod = workload.spec.template.spec;
    const [sidecar] = pod.initContainers ?? [];
    const [tmp, ...volumes] = pod.volumes;
    const { initContainers: _own, ...plain } = pod;
    workload.spec.template.spec = { ...plain, volumes: [tmp!] };
    const settings = injectionSettings({ image: SIDECAR_IMAGE, controlPlaneUrl: null, ca: null });
    const injected = parse(injectManifests(stringify(workload), settings).text) as Workload;
    const { initContainers = [], volumes: expected } = injected.spec.template.spec;
    const [from] = initContainers;
    expect(volumes).toEqual(expected.slice(1));
    expect({ ...sidecar, ports: [], env: [] }).toEqual({ ...from, ports: [], env: [] });
    expect(variablesOf(sidecar!)).toEqual({
      ...variablesOf(from!),
      CONTROL_ACCESS: { name: 'CONTROL_ACCESS', value: 'any' },
    });
  });

  test('has neither the annotation nor the identity of an injected pod, but the label for its network policy', () => {
    const { metadata } = read<Workload>(files, 'k8s/deployment.yaml').spec.template;
    expect(metadata).toEqual({
      labels: { 'app.kubernetes.io/name': 'travel-planner', 'platform.io/agent-name': 'travel-planner' },
    });
  });

  test('the sidecar knows the names of all variables of the agent', () => {
    const { initContainers, containers } = podOf(manifestText('  requires: { envVars: [TZ, HOME] }\n'));
    expect(variablesOf(initContainers![0]!)['AGENT_ENV_NAMES']?.value).toBe(
      'AGENT_NAME,MODEL_PROVIDER,MODEL_ID,OPENAI_API_KEY,TZ,HOME',
    );
    expect(containers[0]!.env?.map(({ name }) => name)).toEqual([
      'AGENT_NAME',
      'MODEL_PROVIDER',
      'MODEL_ID',
      'OPENAI_API_KEY',
      'TZ',
      'HOME',
    ]);
  });

  test('with heartbeats, the sidecar reads an optional Secret', () => {
    const [sidecar] = podOf(manifestText(), true).initContainers ?? [];
    expect(sidecar?.env?.slice(-2)).toEqual(
      ['PLATFORM_URL', 'PLATFORM_KEY'].map((name) => ({
        name,
        valueFrom: { secretKeyRef: { name: 'minimal-platform', key: name, optional: true } },
      })),
    );
    const names = Object.keys(variablesOf(podOf(manifestText()).initContainers![0]!));
    expect(names).not.toContain('PLATFORM_KEY');
  });

  test('uses the declared port and health path', () => {
    const [agent] = podOf(manifestText('  api: { port: 9000, healthEndpoint: /alive }\n')).containers;
    expect(agent).toMatchObject({
      ports: [{ containerPort: 9000 }],
      readinessProbe: { httpGet: { path: '/alive', port: 9000 } },
    });
  });

  test('probes /health where the path is a reference', () => {
    const [agent] = podOf(manifestText('  api: { healthEndpoint: $env:PATH_OF_HEALTH }\n')).containers;
    expect(agent).toMatchObject({ startupProbe: { httpGet: { path: '/health' } } });
  });

  test.each([4000, 4001])('refuses port %i of the sidecar', (port) => {
    expect(planned(manifestText(`  api: { port: ${port} }\n`))).toEqual({
      ok: false,
      reason: `spec.api.port: ${port} is reserved for the sidecar (4000, 4001); use another port`,
    });
  });

  test.each([
    ['yes', 'on'],
    ['"0644"', '"1:30"'],
    ['"null"', '"~"'],
    ['"a: b # c"', '"x\\ny\\t"'],
    ['"%YAML"', '"--- #"'],
    ['$env:PROVIDER', '$secret:model'],
  ])('YAML 1.1 and 1.2 read the same text: %s, %s', (provider, id) => {
    const text = modelled(provider, id);
    const { model } = planOf(text);
    const file = generated('k8s', text)['k8s/configmap.yaml'] ?? '';
    const data = { AGENT_NAME: 'minimal', MODEL_PROVIDER: model.provider, MODEL_ID: model.id };
    for (const version of ['1.1', '1.2'] as const) expect(parse(file, { version })).toMatchObject({ data });
  });

  test.each([
    ['on', 'on'],
    ['42', 'agent-42'],
    [`1${'a'.repeat(62)}`, `agent-1${'a'.repeat(56)}`],
    [`1${'a'.repeat(55)}-b23456`, `agent-1${'a'.repeat(55)}`],
  ])('the agent %s has a Service with a valid name', (name, expected) => {
    expect(objectNameOf(name)).toBe(expected);
    const files = generated('k8s', named(name));
    for (const path of ['k8s/service.yaml', 'k8s/deployment.yaml'])
      expect(parse(files[path] ?? '', { version: '1.1' })).toMatchObject({ metadata: { name: expected } });
  });

  test('comments cannot end in the middle of a path from the manifest', () => {
    const text = manifestText(
      '  mcp: { servers: [{ name: s, transport: stdio, command: x, env: { "a\\nb\\u0085c": $env:TOKEN } }] }\n',
    );
    const file = generated('k8s', text)['k8s/secret.yaml.example'] ?? '';
    expect(parse(file, { version: '1.1' })).toMatchObject({ stringData: { TOKEN: 'CHANGE_ME' } });
    expect(file).not.toContain('\u0085');
    expect(file.split('\n').filter((line) => line.startsWith('b'))).toEqual([]);
  });
});

describe('the image of the agent', () => {
  const plan = { ...planOf(manifestText()), agentImage: 'registry.example:5000/team/agent:1.2' };

  test('is in both targets', () => {
    const [workload] = deployFiles('k8s', plan);
    expect(workload?.content).toContain(`image: ${plan.agentImage}\n`);
    const values = deployFiles('helm', plan).find(({ path }) => path === 'helm/values.yaml');
    expect(parse(values?.content ?? '')).toMatchObject({
      image: { repository: 'registry.example:5000/team/agent', tag: '1.2' },
    });
  });

  const digest = 'a'.repeat(64);
  test.each([
    ['agent', 'agent', 'latest'],
    ['r.example/a_b/c:v1', 'r.example/a_b/c', 'v1'],
    ['localhost:5000/a', 'localhost:5000/a', 'latest'],
    [`r.example/a@sha256:${digest}`, 'r.example/a@sha256', digest],
  ])('%s has the repository %s', (image, repository, tag) => {
    expect(parseImage(image)).toEqual({ repository, tag });
  });

  test.each(['', 'SET_AGENT_IMAGE', 'a b', 'a:', 'a@sha256', 'https://a/b', '-a', 'a\n'])(
    '%j is not an image',
    (image) => {
      expect(parseImage(image)).toBeNull();
    },
  );
});

describe('generate --deploy helm', () => {
  const files = generated('helm', FULL_MANIFEST);

  test('writes the files of command rule 2 and the manifest, the same in every run', () => {
    expect(Object.keys(files).sort()).toEqual([
      'helm/Chart.yaml',
      'helm/README.md',
      'helm/files/agent.yaml',
      'helm/templates/NOTES.txt',
      'helm/templates/_helpers.tpl',
      'helm/templates/configmap.yaml',
      'helm/templates/deployment.yaml',
      'helm/templates/manifest-configmap.yaml',
      'helm/templates/service.yaml',
      'helm/values.schema.json',
      'helm/values.yaml',
    ]);
    expect(generated('helm', FULL_MANIFEST)).toEqual(files);
    expect(files['helm/files/agent.yaml']).toBe(FULL_MANIFEST);
  });

  test('the chart has the name and the version of the agent', () => {
    expect(read(files, 'helm/Chart.yaml')).toMatchObject({
      apiVersion: 'v2',
      name: 'travel-planner',
      version: '2.3.0-rc.1+build.7',
      appVersion: '2.3.0-rc.1+build.7',
    });
  });

  test('every value has a comment, a row in the README and a place in the schema', () => {
    const values = read<Record<string, unknown>>(files, 'helm/values.yaml');
    const schema = JSON.parse(files['helm/values.schema.json'] ?? '') as { properties: object };
    expect(Object.keys(schema.properties)).toEqual([...Object.keys(values), 'global']);
    expect(values).toMatchObject({
      image: { repository: '', tag: '' },
      model: { provider: 'openai', id: 'gpt-4.1-2025-04-14' },
      sidecar: { image: SIDECAR_IMAGE, policyMode: 'track', logLevel: 'info', heapMebibytes: 96 },
    });
    for (const name of ['image.repository', 'sidecar.policyMode', 'tolerations'])
      expect(files['helm/README.md']).toContain(`\n| \`${name}\` | `);
    expect(files['helm/values.yaml']).toContain(
      '  # Image of the agent, without a tag. Required.\n  repository: ""\n',
    );
  });

  test('the Deployment takes its variable parts from the values, at the right indentation', () => {
    const text = files['helm/templates/deployment.yaml'] ?? '';
    expect(text).not.toMatch(/< \w+ >|INDENT/);
    for (const part of [
      'metadata:\n  name: {{ include "travel-planner.fullname" . | quote }}\n  labels: {{- include "travel-planner.labels" . | nindent 4 }}\n',
      '    matchLabels: {{- include "travel-planner.selectorLabels" . | nindent 6 }}\n',
      '          image: {{ .Values.sidecar.image | quote }}\n',
      '          image: {{ include "travel-planner.image" . | quote }}\n',
      '          resources: {{- toYaml .Values.resources | nindent 12 }}\n',
      '            {{- with .Values.env }}{{ toYaml . | nindent 12 }}{{ end }}\n',
      ',HOME,ANTHROPIC_API_KEY,',
      '{{ range .Values.env }},{{ .name }}{{ end }}\n',
      '--max-old-space-size={{ .Values.sidecar.heapMebibytes }} --max-semi-space-size=4\n',
      '      affinity: {{- toYaml .Values.affinity | nindent 8 }}\n',
    ])
      expect(text).toContain(part);
  });

  test('text of the manifest is never a template', () => {
    const text = manifestText('  api: { healthEndpoint: "/a{{b}}" }\n').replace(
      'id: gpt-4.1',
      'id: "{{ .Values.x }}"',
    );
    const templates = Object.entries(generated('helm', text)).filter(([path]) => path.includes('templates'));
    for (const [, content] of templates) expect(content).not.toContain('.Values.x');
    expect(generated('helm', text)['helm/templates/deployment.yaml']).toContain('/a{{ "{{" }}b}}');
  });
});

describe('the next steps', () => {
  const PATHS = { directory: 'out/k8s', envFile: 'out/.env.platform' };

  test('of the Kubernetes manifests', () => {
    expect(nextSteps('k8s', planOf(manifestText()), PATHS)).toEqual([
      'set the images in out/k8s/deployment.yaml',
      'copy out/k8s/secret.yaml.example to out/k8s/secret.yaml and set the values',
      'kubectl apply -f out/k8s',
    ]);
  });

  test('of a chart with heartbeats, without a Secret', () => {
    const text = manifestText().replace('$env:OPENAI_API_KEY', 'none');
    expect(nextSteps('helm', planOf(text, true), { ...PATHS, directory: 'out/helm' })).toEqual([
      'kubectl create secret generic minimal-platform --from-env-file=out/.env.platform, with your values in the file',
      'helm install minimal out/helm --set image.repository=<image of the agent>',
    ]);
  });
});
