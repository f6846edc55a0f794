// Injected pods of every kind of workload in restricted namespaces: they are admitted, run and end as without the sidecar, and
// invalid pods are rejected with a clear message.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { manifestConfigMap, manifestOf } from './agent-workload.ts';
import { startCluster, type Cluster } from './cluster/cluster.ts';
import { DELETION_NAMESPACE, describeDeletions, startDeletions } from './injection-deletion.ts';
import { eventually, kubectlOf, TEST_MS, type Kubectl, type KubeObject } from './kubectl.ts';
import { installProduct, leave } from './product.ts';
import {
  lingeringAgent,
  lingeringDeployment,
  OPTED_IN,
  podTemplate,
  programContainer,
  programsConfigMap,
  serviceOf,
  type PodObject,
} from './program-pods.ts';

jest.setTimeout(TEST_MS);

const RESTRICTED = 'restricted';
/** Services whose links have the names of variables of the sidecar, such as OTLP_PORT. */
const VARIABLE_SERVICES = ['proxy', 'control-plane', 'otlp', 'egress', 'egress-connect'];
/** A memory limit below the default, with which the sidecar still starts. */
const SMALL_SIDECAR = { ...OPTED_IN, 'platform.io/sidecar-memory-limit': '128Mi' };

let cluster: Cluster;
let image: string;
/** kubectl for the restricted namespace. */
let kubectl: Kubectl;

const podsOf = async (app: string): Promise<PodObject[]> =>
  (await kubectl.get<{ items: PodObject[] }>('pods', '-l', `app=${app}`)).items;
const endsOf = ({ status }: PodObject) =>
  [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(({ name, state }) => [
    name,
    state.terminated?.exitCode,
  ]);
const initNames = ({ spec }: PodObject) => spec.initContainers.map(({ name }) => name);
const manifestFor = (name: string) => manifestConfigMap(name, manifestOf(name));
const script = (name: string, text: string) => programContainer(name, image, ['-e', text]);
const readyOf = async (what: string) => kubectl.rolledOut(what);

interface Status {
  conditions?: { type: string; status: string; reason: string; message: string }[];
}
const condition = async (kind: string, name: string, type: string) =>
  (await kubectl.get<{ status?: Status }>(kind, name)).status?.conditions?.find((each) => each.type === type);

const job = (name: string, container: KubeObject): KubeObject => ({
  backoffLimit: 0,
  template: podTemplate(name, [container], {
    annotations: OPTED_IN,
    spec: { restartPolicy: 'Never' },
  }),
});
const workload = (kind: string, name: string, spec: KubeObject): KubeObject => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: podTemplate(name, [lingeringAgent(image)], { annotations: OPTED_IN }),
    ...spec,
  },
});
const barePod = (metadata: KubeObject, spec: KubeObject = {}): KubeObject => {
  const template = podTemplate('bare', [lingeringAgent(image)], { annotations: OPTED_IN, spec });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...template.metadata, ...metadata },
    spec: template.spec,
  };
};

/** Several containers, and init containers that use the network: the sidecar starts before them. */
function severalContainers(): KubeObject {
  const requestOnce = `
    const own = await fetch('http://127.0.0.1:4001/readyz');
    if (own.status !== 200) throw new Error('the sidecar returned ' + own.status);
    for (;;) {
      const other = await fetch('http://plain').catch(() => null);
      if (other?.status === 200) break;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }`;
  const listen = (port: number) =>
    `require('node:http').createServer((q, a) => a.end('${port}')).listen(${port})`;
  const initContainers = [
    script('asks', `(async () => {${requestOnce}})()`),
    {
      ...script('of-theirs', listen(8200)),
      restartPolicy: 'Always',
      startupProbe: { httpGet: { port: 8200 }, periodSeconds: 1, timeoutSeconds: 20, failureThreshold: 180 },
    },
    script('asks-theirs', `fetch('http://127.0.0.1:8200').then((a) => process.exit(a.ok ? 0 : 1))`),
  ];
  const second = { ...script('second', listen(8100)), ports: [{ name: 'admin', containerPort: 8100 }] };
  const template = podTemplate('several', [second, lingeringAgent(image)], {
    annotations: { ...OPTED_IN, 'platform.io/agent-container': 'agent' },
    spec: { initContainers },
  });
  return workload('Deployment', 'several', { template });
}

beforeAll(async () => {
  cluster = await startCluster();
  image = cluster.imageRef('example-agents');
  kubectl = kubectlOf(cluster, RESTRICTED);
  await installProduct(cluster);
  const labels = {
    'pod-security.kubernetes.io/enforce': 'restricted',
    'pod-security.kubernetes.io/warn': 'restricted',
  };
  await kubectl.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: RESTRICTED, labels } },
    programsConfigMap(),
    // Before the pods, because the kubelet sets the variables when it creates a container.
    ...VARIABLE_SERVICES.map((name) => serviceOf(name, 'no-pod', 8000)),
  ]);
  await kubectl.apply([
    ...['several', 'set', 'each', 'batch', 'failing', 'often', 'named'].map(manifestFor),
    // First, because it waits for the start of the next minute.
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'often' },
      spec: {
        schedule: '* * * * *',
        concurrencyPolicy: 'Forbid',
        jobTemplate: { spec: job('often', script('agent', 'setTimeout(() => undefined, 500)')) },
      },
    },
    ...lingeringDeployment('plain', image),
    ...lingeringDeployment('traced', image, { annotations: { 'platform.io/otlp': 'true' } }),
    serviceOf('by-number', 'each', 8000),
    severalContainers(),
    serviceOf('several-admin', 'several', 'admin'),
    workload('StatefulSet', 'set', { replicas: 2, serviceName: 'set', podManagementPolicy: 'Parallel' }),
    workload('DaemonSet', 'each', {
      template: podTemplate('each', [lingeringAgent(image)], { annotations: SMALL_SIDECAR }),
    }),
    ...['batch', 'failing'].map((name) => ({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name },
      spec: job(name, script('agent', `setTimeout(() => process.exit(${name === 'batch' ? 0 : 3}), 1000)`)),
    })),
  ]);
  await startDeletions(cluster);
});

afterAll(async () => {
  await leave(cluster, RESTRICTED, DELETION_NAMESPACE);
});

describe('in a namespace that enforces the restricted profile', () => {
  test('a valid Deployment runs with the sidecar', async () => {
    await readyOf('deploy/plain');
    const [pod] = await podsOf('plain');
    expect(initNames(pod!)).toEqual(['platform-sidecar']);
    expect(pod?.status.containerStatuses?.map(({ ready, restartCount }) => [ready, restartCount])).toEqual([
      [true, 0],
    ]);
    expect(await condition('deploy', 'plain', 'ReplicaFailure')).toBeUndefined();
  });

  test('Services with the names of variables of the sidecar do not change its ports', async () => {
    await readyOf('deploy/plain');
    const printed = await kubectl.script(
      'deploy/plain',
      'platform-sidecar',
      `console.log(JSON.stringify(process.env));
      fetch('http://127.0.0.1:4000/linked').then((a) => console.log(a.status))`,
    );
    const [variables = '', status] = printed.trim().split('\n');
    const link = expect.stringMatching(/^tcp:\/\/.+:80$/);
    expect(JSON.parse(variables)).toMatchObject({
      ...{ PROXY_PORT: link, CONTROL_PLANE_PORT: link, OTLP_PORT: link },
      ...{ EGRESS_PORT: link, EGRESS_CONNECT_PORT: link },
    });
    expect(status).toBe('200');
  });

  test('a StatefulSet with two replicas and a DaemonSet run with the sidecar', async () => {
    await readyOf('sts/set');
    await readyOf('ds/each');
    const pods = [...(await podsOf('set')), ...(await podsOf('each'))];
    expect(pods.map((pod) => [pod.metadata.labels['platform.io/agent'], initNames(pod)])).toEqual([
      ['set', ['platform-sidecar']],
      ['set', ['platform-sidecar']],
      ['each', ['platform-sidecar']],
    ]);
    await eventually(
      'both replicas in the observation',
      () => kubectl.get<{ status?: { instanceCount?: number } }>('ao', 'set'),
      ({ status }) => status?.instanceCount === 2,
    );
  });

  test('a pod with several containers, init containers that use the network and its own native sidecar runs', async () => {
    await readyOf('deploy/several');
    const [pod] = await podsOf('several');
    expect(initNames(pod!)).toEqual(['platform-sidecar', 'asks', 'of-theirs', 'asks-theirs']);
    const inits = Object.fromEntries(
      (pod?.status.initContainerStatuses ?? []).map(({ name, restartCount, state }) => [
        name,
        [restartCount, state.terminated?.exitCode],
      ]),
    );
    // No container was restarted.
    expect(inits).toEqual({
      'platform-sidecar': [0, undefined],
      asks: [0, 0],
      'of-theirs': [0, undefined],
      'asks-theirs': [0, 0],
    });
    // The port name of the other container is not changed.
    const { result } = await eventually('the other container', () =>
      kubectl.script(
        'deploy/several',
        'second',
        `fetch('http://several-admin').then((a) => a.text()).then(console.log)`,
      ),
    );
    expect(result.trim()).toBe('8100');
  });

  test('a Job completes: the sidecar does not keep it running', async () => {
    await kubectl.waitFor('condition=Complete', 'job/batch');
    const [pod] = await podsOf('batch');
    expect(pod?.status.phase).toBe('Succeeded');
    expect(endsOf(pod!)).toEqual([
      ['platform-sidecar', 0],
      ['agent', 0],
    ]);
  });

  test('a Job whose agent fails is Failed: the sidecar does not hide the failure', async () => {
    await kubectl.waitFor('condition=Failed', 'job/failing');
    const [pod] = await podsOf('failing');
    expect(pod?.status.phase).toBe('Failed');
    expect(endsOf(pod!)).toEqual([
      ['platform-sidecar', 0],
      ['agent', 3],
    ]);
  });
});

describe('rejected pods', () => {
  const volume = { name: 'platform-manifest', emptyDir: {} };
  const rows: [string, () => KubeObject, RegExp][] = [
    [
      'a pod without owner and with a generated name',
      () => barePod({ generateName: 'bare-' }),
      /the pod has no owner and no name yet: set annotation platform\.io\/agent-name/,
    ],
    [
      'a volume with a name reserved for the injector',
      () => barePod({ name: 'bare' }, { volumes: [volume] }),
      /volume platform-manifest: this name is reserved for the injector; rename it/,
    ],
    [
      'a container with the name of the sidecar',
      () => barePod({ name: 'bare' }, { initContainers: [script('platform-sidecar', '')] }),
      /container platform-sidecar: this name is reserved for the injector; rename it/,
    ],
  ];
  test.each(rows)('%s', async (_what, pod, message) => {
    const file = JSON.stringify(pod());
    const { code, stderr } = await cluster.exec(['kubectl', '-n', RESTRICTED, 'create', '-f', '-'], {
      input: file,
    });
    expect(stderr).toMatch(message);
    expect(code).toBe(1);
  });

  test('accepts a generated name with the annotation for the agent’s name, without a Pod Security warning', async () => {
    const annotations = { ...OPTED_IN, 'platform.io/agent-name': 'named' };
    const pod = barePod({ generateName: 'bare-', annotations });
    const { stdout, stderr } = await cluster.exec(
      ['kubectl', '-n', RESTRICTED, 'create', '-f', '-', '-o', 'json', '--dry-run=server'],
      { input: JSON.stringify(pod) },
    );
    expect(stderr).toBe('');
    const seen = JSON.parse(stdout) as PodObject;
    expect(seen.metadata.labels).toMatchObject({ 'platform.io/agent': 'named' });
    expect(initNames(seen)).toEqual(['platform-sidecar']);
  });
});

describe('the route to the agent', () => {
  const audited = async (workload: string): Promise<string[]> => {
    const ring = await kubectl.script(
      workload,
      'platform-sidecar',
      `fetch('http://127.0.0.1:4001/audit').then((a) => a.text()).then(console.log)`,
    );
    return (JSON.parse(ring) as { path: string }[]).map(({ path }) => path);
  };
  /** Retries, because a Service refuses connections until kube-proxy has its rules. */
  const ask = async (deployment: string, url: string) => {
    const script = `fetch('${url}').then((a) => console.log(a.status))`;
    return (await eventually(url, () => kubectl.script(`deploy/${deployment}`, 'agent', script))).result;
  };

  test('a Service that targets the port name goes through the sidecar, a port number bypasses it, and Routed reports both', async () => {
    await readyOf('ds/each');
    expect(await ask('plain', 'http://plain/by-name')).toBe('200\n');
    expect(await ask('plain', 'http://by-number/by-number')).toBe('200\n');
    // The client receives the response shortly before the entry is written.
    await eventually(
      'the request in the audit ring',
      () => audited('deploy/plain'),
      (paths) => paths.includes('/by-name'),
    );
    expect(await audited('ds/each')).not.toContain('/by-number');
    const verdict = async (name: string, status: string) =>
      (
        await eventually(
          `Routed of ${name}`,
          () => condition('ao', name, 'Routed'),
          (seen) => seen?.status === status,
        )
      ).result;
    expect(await verdict('plain', 'True')).toMatchObject({
      message: expect.stringContaining('Service plain'),
    });
    expect(await verdict('each', 'False')).toMatchObject({
      reason: 'ServiceBypassesSidecar',
      message: expect.stringContaining('Service by-number port 80 targets 8000'),
    });
  });

  test('probes that use the port name reach the agent directly and restart only the agent', async () => {
    const restarts = async () => {
      const [pod] = await podsOf('plain');
      const statuses = [
        ...(pod?.status.initContainerStatuses ?? []),
        ...(pod?.status.containerStatuses ?? []),
      ];
      return Object.fromEntries(
        statuses.map(({ name, restartCount, ready }) => [name, [restartCount, ready]]),
      );
    };
    // No startup, readiness or liveness probe went through the sidecar.
    expect(await audited('deploy/plain')).not.toContain('/health');
    expect(await restarts()).toEqual({ 'platform-sidecar': [0, true], agent: [0, true] });
    expect(await ask('plain', 'http://127.0.0.1:8000/break')).toBe('200\n');
    const { result } = await eventually(
      'the agent restarted and ready',
      restarts,
      ({ agent }) => agent?.[0] === 1 && agent[1] === true,
    );
    expect(result).toEqual({ 'platform-sidecar': [0, true], agent: [1, true] });
    // The only endpoint was unavailable for a while.
    await eventually(
      'a response through the Service',
      () => ask('plain', 'http://plain/again'),
      (status) => status === '200\n',
    );
  });
});

test('an invalid manifest and a missing ConfigMap are named in the observation and on the Deployment until they are corrected', async () => {
  const [valid, broken] = lingeringDeployment('broken', image);
  const [absentManifest, absent] = lingeringDeployment('absent', image);
  await kubectl.apply([manifestConfigMap('broken', 'kind: Nothing\n'), broken!, absent!]);
  const verdict = async (name: string, status: string) => {
    const ask = () => condition('ao', name, 'ManifestValid');
    const { result } = await eventually(`ManifestValid of ${name}`, ask, (seen) => seen?.status === status);
    return result;
  };
  expect(await verdict('broken', 'False')).toMatchObject({
    reason: 'ManifestInvalid',
    message: expect.stringMatching(
      /^ConfigMap broken-manifest: The manifest is not valid: .*agent\.yaml:1:\d+ /,
    ),
  });
  expect(await verdict('absent', 'False')).toMatchObject({
    reason: 'ManifestMissing',
    message: expect.stringContaining('configmap "absent-manifest" not found'),
  });
  for (const name of ['broken', 'absent'])
    await eventually(
      `the Event of ${name}`,
      () => kubectl.run('describe', 'deployment', name),
      (text) => text.includes('ManifestInvalid') && text.includes(`ConfigMap ${name}-manifest`),
    );
  await kubectl.apply([valid!, absentManifest!]);
  // A new pod is not delayed by the backoff of the failed one.
  await kubectl.run('rollout', 'restart', 'deployment/broken', 'deployment/absent');
  for (const name of ['broken', 'absent']) {
    await readyOf(`deploy/${name}`);
    expect(await verdict(name, 'True')).toMatchObject({ reason: 'ManifestInForce' });
  }
  await kubectl.run('delete', 'deployment', 'broken', 'absent', '--wait=false');
});

test('a manifest that breaks a rule of the organisation is rejected; if it is older than the rule, its agent does not start until it is corrected', async () => {
  const forbidden = `${manifestOf('ruled').replace(/^ {2}tools:$/m, '  tools:\n    - name: shell_exec')}`;
  expect(forbidden).toContain('shell_exec');
  const policy = {
    ...{ apiVersion: 'platform.io/v1', kind: 'AgentPolicy', metadata: { name: 'e2e-rules' } },
    spec: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': RESTRICTED } },
      agents: ['ruled'],
      rules: [{ id: 'tools', action: 'Deny', tools: { forbidden: ['shell*'] } }],
    },
  };
  const [, deployment] = lingeringDeployment('ruled', image);
  await kubectl.apply([manifestConfigMap('ruled', forbidden), policy]);
  await eventually(
    'the rejection',
    () =>
      kubectl.apply([manifestConfigMap('ruled', `${forbidden}# changed\n`)]).then(
        () => '',
        (error: unknown) => String(error),
      ),
    (text) => text.includes('e2e-rules/tools (high) spec.tools[0].name: tool'),
  );
  // The ConfigMap that was written before the rule.
  await kubectl.run('delete', 'agentpolicy', 'e2e-rules');
  await eventually(
    'the write without the rule',
    () =>
      kubectl.apply([manifestConfigMap('ruled', forbidden)]).then(
        () => true,
        () => false,
      ),
    (isWritten) => isWritten,
  );
  await kubectl.apply([policy, deployment!]);
  const { result } = await eventually(
    'Allowed of ruled',
    () => condition('ao', 'ruled', 'Allowed'),
    (seen) => seen?.status === 'False',
  );
  expect(result).toMatchObject({
    reason: 'RuleBroken',
    message: 'e2e-rules/tools: tool shell_exec is forbidden by shell*',
  });
  await eventually(
    'the Event',
    () => kubectl.run('describe', 'deployment', 'ruled'),
    (text) => text.includes('NotAllowed'),
  );
  const [pod] = (await kubectl.get<Started>('pods', '-l', 'app=ruled')).items;
  expect(pod?.status.containerStatuses).toMatchObject([{ name: 'agent', started: false }]);
  await kubectl.apply([manifestConfigMap('ruled', manifestOf('ruled'))]);
  // A change of the pod makes the kubelet update its volumes at once.
  await kubectl.run('annotate', 'pods', '-l', 'app=ruled', 'example.com/nudge=1');
  await readyOf('deploy/ruled');
  const [same] = (await kubectl.get<Started>('pods', '-l', 'app=ruled')).items;
  expect(same?.metadata.name).toBe(pod?.metadata.name);
  await kubectl.run('delete', 'deployment/ruled', 'agentpolicy/e2e-rules', '--wait=false');
});

interface Started {
  items: {
    metadata: { name: string };
    status: { containerStatuses: { name: string; started: boolean }[] };
  }[];
}

describe('with platform.io/otlp', () => {
  const [traceId, callerId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
  const attributes = [
    { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
    { key: 'gen_ai.request.model', value: { stringValue: 'gpt-5' } },
    { key: 'gen_ai.usage.input_tokens', value: { intValue: '12' } },
    { key: 'gen_ai.usage.output_tokens', value: { intValue: '3' } },
  ];
  const ids = { traceId, spanId: '00f067aa0ba902b7', parentSpanId: callerId };
  const span = { ...ids, name: 'chat gpt-5', kind: 3, attributes };

  test('a span that the agent sends to the endpoint of its environment becomes a model call in the audit ring', async () => {
    await readyOf('deploy/traced');
    const headers = JSON.stringify({ traceparent: `00-${traceId}-${callerId}-01` });
    const sending = `(async () => {
      const asked = await fetch('http://traced/traced', { headers: ${headers} });
      const now = Date.now() + '000000';
      const span = { ...${JSON.stringify(span)}, startTimeUnixNano: now, endTimeUnixNano: now };
      const sent = await fetch(process.env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }),
      });
      console.log(asked.status, sent.status, process.env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL);
    })()`;
    // A Service refuses connections until kube-proxy has its rules.
    const { result } = await eventually('an accepted span', () =>
      kubectl.script('deploy/traced', 'agent', sending),
    );
    expect(result).toBe('200 200 http/protobuf\n');
    const audit = `fetch('http://127.0.0.1:4001/audit').then((a) => a.text()).then(console.log)`;
    const ring = async (): Promise<unknown[]> => {
      const entries = await kubectl.script('deploy/traced', 'platform-sidecar', audit);
      return (JSON.parse(entries) as { path: string; events?: unknown[] }[])
        .filter(({ path }) => path === '/traced')
        .flatMap(({ events = [] }) => events);
    };
    const { result: events } = await eventually('the model call', ring, ({ length }) => length > 0);
    expect(events).toEqual([
      { type: 'model', modelId: 'gpt-5', promptTokens: 12, completionTokens: 3, source: 'span' },
    ]);
  });
});

// Before the release is upgraded, so that all pods of these scenarios have the same injection.
describeDeletions();

describe('with policy.engine: opa', () => {
  const ENGINE = 'engine';
  const OWN = ['platform-policy', 'platform-opa', 'platform-sidecar'];

  beforeAll(async () => {
    await installProduct(cluster, {
      values: { policy: { engine: 'opa', opa: { image: cluster.imageRef('opa') } } },
    });
    const [manifest, deployment, service] = lingeringDeployment(ENGINE, image, {
      annotations: { 'platform.io/policy-proxy-mode': 'enforce' },
      container: {
        args: ['dist/example-agents/main.js'],
        env: [
          { name: 'OPENAI_API_KEY', value: 'not-a-real-key' },
          { name: 'AGENT_FAULTS', value: 'pii-only-for-long-messages' },
        ],
      },
    });
    await kubectl.run('delete', 'job', 'batch');
    await kubectl.apply([
      manifest!,
      deployment!,
      service!,
      {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'batch' },
        spec: job('batch', script('agent', '')),
      },
    ]);
    await readyOf(`deploy/${ENGINE}`);
  });

  test('the rules in the real engine of its pod block an agent that skips a guardrail', async () => {
    const [pod] = await podsOf(ENGINE);
    expect(initNames(pod!)).toEqual(OWN);
    const inSidecar = (text: string) => kubectl.script(`deploy/${ENGINE}`, 'platform-sidecar', text);
    const asked = (message: string) =>
      kubectl.script(
        `deploy/${ENGINE}`,
        'agent',
        `fetch('http://${ENGINE}/v1/chat', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message: ${JSON.stringify(message)} }) })
          .then(async (a) => console.log(JSON.stringify({ status: a.status, body: await a.json() })))`,
      );
    // A Service refuses connections until kube-proxy has its rules.
    const chat = async (message: string) => (await eventually('a response', () => asked(message))).result;
    expect(JSON.parse(await chat('Hello'))).toEqual({
      status: 403,
      body: expect.objectContaining({ blocked: true, violations: ['pii_detector_not_invoked'] }),
    });
    // Long enough for the agent to run the guardrail: the engine then allows the request.
    expect(JSON.parse(await chat('Hello, this is a long message. '.repeat(5)))).toMatchObject({
      status: 200,
    });
    expect(
      JSON.parse(
        await inSidecar(`fetch('http://127.0.0.1:4001/readyz').then((a) => a.text()).then(console.log)`),
      ),
    ).toEqual({ status: 'ok', policy: { mode: 'enforce', engine: 'opa' } });
    const metrics = await inSidecar(
      `fetch('http://127.0.0.1:8282/metrics').then((a) => a.text()).then(console.log)`,
    );
    const count =
      /^http_request_duration_seconds_count\{code="200",handler="v1\/data",method="post"\} (\d+)$/m;
    expect(Number(count.exec(metrics)?.[1])).toBeGreaterThanOrEqual(2);
  });

  test('a Job completes with an engine and a sidecar', async () => {
    await kubectl.waitFor('condition=Complete', 'job/batch');
    const [pod] = await podsOf('batch');
    expect(endsOf(pod!)).toEqual([
      ['platform-policy', 0],
      ['platform-opa', 0],
      ['platform-sidecar', 0],
      ['agent', 0],
    ]);
  });
});

describe('a CronJob', () => {
  test('completes its Jobs, which report as one agent', async () => {
    const { result } = await eventually(
      'a completed Job of the CronJob',
      async () => (await podsOf('often')).find(({ status }) => status.phase === 'Succeeded'),
      (pod) => pod !== undefined,
    );
    expect(result?.metadata.labels['platform.io/agent']).toBe('often');
    // The Job may have started before or after the engine was enabled.
    const engine = [
      ['platform-policy', 0],
      ['platform-opa', 0],
    ];
    const ends = [
      ['platform-sidecar', 0],
      ['agent', 0],
    ];
    expect([ends, [...engine, ...ends]]).toContainEqual(endsOf(result!));
    await eventually(
      'the Job counted',
      () => kubectl.get<{ status: { lastSuccessfulTime?: string } }>('cronjob', 'often'),
      ({ status }) => status.lastSuccessfulTime !== undefined,
    );
    await kubectl.run('delete', 'cronjob', 'often', '--wait=false');
  });
});
