// The main use case on a real cluster: helm install, annotate, see the grade. Failures and recoveries must be visible, and
// nothing is left after the uninstallation.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import OpenAI from 'openai';
import { adminApi } from './admin-api.ts';
import type { ObservedEvidence } from '../core/shapes/observation.ts';
import { agentWorkload, BRING_BACK, manifestConfigMap, manifestOf, TAKE_DOWN } from './agent-workload.ts';
import { startCluster, type Cluster } from './cluster/cluster.ts';
import type { RunResult } from './cluster/run.ts';
import { eventually, kubectlOf, TEST_MS, type Kubectl } from './kubectl.ts';
import { COMMAND_BUNDLE } from '../testing/machine/built-command.ts';
import { documentedCommands } from '../testing/documents/documented-commands.ts';
import {
  ADMIN_KEY,
  HEARTBEAT_SECONDS,
  HELM_TIMEOUT,
  installProduct,
  leave,
  RELEASE,
  removeKept,
  SYSTEM_NAMESPACE,
  uninstallProduct,
} from './product.ts';
import { IN_SOAK, withinLimit } from '../testing/time/real-time.ts';

jest.setTimeout(TEST_MS);

const NAMESPACE = 'shop-team';
const AGENT = 'shop';
/** The limit after which an agent without a heartbeat is `Unknown`, in seconds. */
const STALE_SECONDS = Math.max(3 * HEARTBEAT_SECONDS, 120);

interface Observation {
  status?: {
    phase?: string;
    grade?: string;
    score?: number;
    tokens?: number;
    policyMode?: string;
    evidence?: ObservedEvidence;
    violations?: number;
    issues?: { property: string }[];
    conditions?: { type: string; status: string; reason: string; message: string }[];
  };
}
interface Gap {
  score: number;
  grade: string;
  issues: { property: string }[];
}

let cluster: Cluster;
let kubectl: Kubectl;
let system: Kubectl;
/** Time limits that start when the agent is applied. */
let applied: { isReady: () => void; isObserved: () => void };

const helm = (...args: string[]) => cluster.exec(['helm', '-n', SYSTEM_NAMESPACE, ...args]);
const observation = (name = AGENT) => kubectl.get<Observation>('ao', name);
const conditionOf = (seen: Observation, type: string) =>
  seen.status?.conditions?.find((each) => each.type === type);
/** Runs the built command with access to the API server. */
const platform = (...args: string[]) => cluster.exec([process.execPath, COMMAND_BUNDLE, ...args]);
const codesIn = (output: string) =>
  (JSON.parse(output) as { findings: { code: string }[] }).findings.map(({ code }) => code);
const inSidecar = (script: string) => kubectl.script(`deploy/${AGENT}`, 'platform-sidecar', script);
const inAgent = (script: string) => kubectl.script(`deploy/${AGENT}`, 'agent', script);

async function gapOfPod(): Promise<Gap> {
  return JSON.parse(
    await inSidecar(`fetch('http://127.0.0.1:4001/gap').then((r) => r.text()).then(console.log)`),
  ) as Gap;
}

const asked = <T>(path: string, key: string | null = ADMIN_KEY) =>
  adminApi<T>(kubectl, `deploy/${AGENT}`, path, { key });

/** Tokens counted by the agent, read directly from its port, not through the sidecar. */
async function tokensCountedByAgent(): Promise<number> {
  const usage = await inAgent(
    `fetch('http://127.0.0.1:8000/platform/usage').then((r) => r.text()).then(console.log)`,
  );
  return (JSON.parse(usage) as { totalTokens: number }).totalTokens;
}

async function chat(requests: number): Promise<{ tokens: number; texts: string[] }> {
  const forward = await cluster.forward({ namespace: NAMESPACE, name: AGENT, port: 80 });
  try {
    const client = new OpenAI({ baseURL: `${forward.url}/v1`, apiKey: 'unused', maxRetries: 5 });
    const messages = [{ role: 'user' as const, content: 'What is 6 * 7?' }];
    let tokens = 0;
    const texts: string[] = [];
    for (let n = 0; n < requests; n += 1) {
      const whole = await client.chat.completions.create({ model: 'gpt-4o-mini', messages });
      tokens += whole.usage?.total_tokens ?? 0;
      texts.push(whole.choices[0]?.message.content ?? '');
      const stream = await client.chat.completions.create({
        model: 'gpt-4o-mini',
        messages,
        stream: true,
        stream_options: { include_usage: true },
      });
      let text = '';
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? '';
        tokens += chunk.usage?.total_tokens ?? 0;
      }
      texts.push(text);
    }
    return { tokens, texts };
  } finally {
    await forward.close();
  }
}

/** Waits until the observation passes the check, within two heartbeat intervals. */
async function shows(
  what: string,
  passes: (seen: Observation) => boolean,
  agent = AGENT,
  limit: Parameters<typeof withinLimit>[0] = 'a change in the observation',
): Promise<void> {
  const isShown = withinLimit(limit);
  await eventually(what, () => observation(agent), passes, 3_000 * STALE_SECONDS);
  isShown();
}

/** Moves the last heartbeat in the stored observation into the past, so that it becomes stale in a few seconds. */
async function age(agent: string): Promise<void> {
  const { status } = await kubectl.get<{ status: { instances: { lastHeartbeat: string }[] } }>('ao', agent);
  const past = (time: string) =>
    new Date(Date.parse(time) - 1_000 * (STALE_SECONDS - HEARTBEAT_SECONDS)).toISOString();
  const instances = status.instances.map((each) => ({ ...each, lastHeartbeat: past(each.lastHeartbeat) }));
  const patch = JSON.stringify({ status: { instances } });
  await kubectl.run('patch', 'ao', agent, '--subresource=status', '--type=merge', '-p', patch);
}

const isHealthy = ({ status }: Observation): boolean => status?.phase === 'Healthy' && status.score === 100;
const hasIssues = (seen: Observation, ...properties: string[]): boolean =>
  properties.every((each) => seen.status?.issues?.some(({ property }) => property === each));

beforeAll(async () => {
  cluster = await startCluster();
  await uninstallProduct(cluster);
  kubectl = kubectlOf(cluster, NAMESPACE);
  system = kubectlOf(cluster, SYSTEM_NAMESPACE);
  await kubectl.run('create', 'namespace', NAMESPACE);
});

afterAll(async () => {
  await leave(cluster, NAMESPACE);
});

describe('installing', () => {
  test('platform check --pre passes', async () => {
    expect(await platform('check', '--pre')).toMatchObject({ code: 0, stderr: '' });
  });

  test('the chart is ready', async () => {
    const isInstalled = withinLimit('helm install --wait');
    // No test of this file needs more, and the README's commands install the default number.
    await installProduct(cluster, { replicas: 1 });
    isInstalled();
  });

  test('helm test passes and leaves nothing behind', async () => {
    // With --logs Helm would read the logs of a pod that is already deleted.
    const { code, stdout, stderr } = await helm('test', RELEASE, '--timeout', HELM_TIMEOUT);
    const logs = code === 0 ? '' : await system.run('logs', '-l', 'app.kubernetes.io/component=test');
    expect({ code, stderr, logs }).toEqual({ code: 0, stderr: '', logs: '' });
    expect(stdout).toMatch(/^Phase: +Succeeded$/m);
    const kinds = 'pods,configmaps,serviceaccounts,rolebindings';
    const component = ['-l', 'app.kubernetes.io/component=test', '--all-namespaces', '-o', 'name'];
    expect(await system.run('get', kinds, ...component)).toBe('');
  });

  test('every process runs as non-root and stays up', async () => {
    const list = () =>
      system.get<{
        items: {
          spec: { containers: { securityContext: unknown }[]; securityContext: unknown };
          status: { containerStatuses: { restartCount: number; ready: boolean }[] };
        }[];
      }>('pods');
    const areReady = ({ items }: Awaited<ReturnType<typeof list>>) =>
      items.every(({ status }) => status.containerStatuses.every(({ ready }) => ready));
    const { result: pods } = await eventually('all processes ready', list, areReady);
    expect(pods.items.length).toBeGreaterThanOrEqual(3);
    for (const pod of pods.items) {
      expect(pod.status.containerStatuses.map(({ restartCount }) => restartCount)).toEqual([0]);
      expect(JSON.stringify(pod.spec)).toContain('"runAsNonRoot":true');
    }
  });
});

describe('an annotated Deployment', () => {
  test('is Ready with the sidecar', async () => {
    applied = {
      isReady: withinLimit('an injected pod Ready'),
      isObserved: withinLimit('a first observation'),
    };
    await kubectl.apply(
      agentWorkload({
        name: AGENT,
        image: cluster.imageRef('example-agents'),
        annotations: { 'platform.io/policy-proxy-mode': 'enforce' },
      }),
    );
    await kubectl.rolledOut(`deploy/${AGENT}`);
    applied.isReady();
    const { items } = await kubectl.get<{
      items: {
        metadata: { labels: Record<string, string> };
        spec: {
          initContainers: { name: string; restartPolicy: string; env: { name: string; value?: string }[] }[];
        };
      }[];
    }>('pods', '-l', `app=${AGENT}`);
    const [pod] = items;
    expect(pod?.metadata.labels).toMatchObject({ 'platform.io/agent': AGENT });
    const [sidecar] = pod?.spec.initContainers ?? [];
    expect(sidecar).toMatchObject({ name: 'platform-sidecar', restartPolicy: 'Always' });
    expect(sidecar?.env).toContainEqual({ name: 'POLICY_PROXY_MODE', value: 'enforce' });
  });

  test('has a correct observation', async () => {
    await eventually('a reported observation', observation, (seen) => seen.status?.score === 100);
    applied.isObserved();
  });

  test('responds through the sidecar at its Service, including streams', async () => {
    const { texts } = await chat(1);
    expect(texts).toEqual([expect.stringContaining('42'), expect.stringContaining('42')]);
    const audit = async () => {
      const ring = await inSidecar(
        `fetch('http://127.0.0.1:4001/audit').then((r) => r.text()).then(console.log)`,
      );
      return (JSON.parse(ring) as { method: string; path: string; statusCode: number }[])
        .filter(({ path }) => path === '/v1/chat/completions')
        .map(({ method, statusCode }) => ({ method, statusCode }));
    };
    // The client receives its response shortly before the entry is written.
    const { result } = await eventually('both in the audit ring', audit, ({ length }) => length >= 2);
    expect(result).toEqual([
      { method: 'POST', statusCode: 200 },
      { method: 'POST', statusCode: 200 },
    ]);
  });

  test('passes kubectl wait --for=condition=Ready', async () => {
    await kubectl.waitFor('condition=Ready', `ao/${AGENT}`);
    expect((await observation()).status).toMatchObject({ policyMode: 'enforce' });
  });

  test('is Compliant once its model, tools and guardrails were observed, and kubectl shows the evidence', async () => {
    const isCompliant = (seen: Observation) => conditionOf(seen, 'Compliant')?.status === 'True';
    const { result } = await eventually('enough evidence', () => observation(), isCompliant);
    expect(result.status?.evidence).toMatchObject({ percent: 61, shown: 5.5, declared: 9, reported: 7 });
    const tiers = Map.groupBy(result.status?.evidence?.items ?? [], ({ tier }) => tier);
    expect(tiers.get('observed')?.map(({ kind }) => kind)).toEqual(['model', 'budget']);
    const wide = await kubectl.run('get', 'ao', AGENT, '-o', 'wide');
    expect(wide.split('\n')[0]).toMatch(/ COMPLIANT .* EVIDENCE +PROVED /);
    expect(wide.split('\n')[1]).toMatch(/ 61 +\d+ /);
  });

  test('causes no finding of platform check', async () => {
    const { code, stdout } = await platform('check', '--wait', '180s', '--fail-on', 'warning', '-o', 'json');
    expect({ code, codes: codesIn(stdout) }).toEqual({ code: 0, codes: [] });
  });

  test('has the same score and issues in kubectl, the pod’s own /gap and the admin API', async () => {
    type Listed = Record<'agentName' | 'namespace' | 'phase' | 'grade', string> & {
      score: number;
      tokens: number;
    };
    const everywhere = async () => {
      const gap = await gapOfPod();
      const { status = {} } = await observation();
      const [list, stored] = [
        await asked<Listed[]>('/api/v1/agents'),
        await asked<Gap>(`/api/v1/agents/${AGENT}/gap`),
      ];
      const gradeOf = ({ score, grade }: { score?: number; grade?: string }) => ({ score, grade });
      const issuesOf = ({ issues = [] }: { issues?: { property: string }[] }) =>
        issues.map(({ property }) => property);
      return {
        pod: { ...gradeOf(gap), issues: issuesOf(gap) },
        kubectl: { ...gradeOf(status), issues: issuesOf(status) },
        stored: { ...gradeOf(stored.body), issues: issuesOf(stored.body) },
        tokens: status.tokens,
        list,
      };
    };
    // A slow response of the agent may be in one report and not in the next.
    const isSame = ({ pod, kubectl, stored }: Awaited<ReturnType<typeof everywhere>>) =>
      isDeepStrictEqual(pod, kubectl) && isDeepStrictEqual(pod, stored);
    const { result } = await eventually('the same everywhere', everywhere, isSame);
    expect(result.list.status).toBe(200);
    expect(result.list.body).toEqual([
      expect.objectContaining({
        agentName: AGENT,
        namespace: NAMESPACE,
        phase: 'Healthy',
        grade: result.pod.grade,
        score: result.pod.score,
        tokens: result.tokens,
      }),
    ]);
  });

  test.each([
    ['without a key', null, 401],
    ['with a wrong key', 'wrong', 403],
  ])('is not returned by the admin API %s', async (_how, key, status) => {
    expect((await asked('/api/v1/agents', key)).status).toBe(status);
  });

  test('denies other pods access to its reports', async () => {
    const status = await inAgent(`
      const own = Object.values(require('node:os').networkInterfaces()).flat().find((each) => !each.internal && each.family === 'IPv4').address;
      fetch('http://' + own + ':4001/gap').then((r) => console.log(r.status));`);
    expect(status.trim()).toBe('403');
  });

  test('has no Kubernetes API token in the sidecar', async () => {
    const found = await inSidecar(
      `console.log(require('node:fs').existsSync('/var/run/secrets/kubernetes.io/serviceaccount/token'))`,
    );
    expect(found.trim()).toBe('false');
  });
});

describe('an invalid annotation', () => {
  test.each([
    ['platform.io/inject', 'yes', /platform\.io\/inject.*"yes".*"true".*"false"/s],
    [
      'platform.io/policy-proxy-mode',
      'block',
      /platform\.io\/policy-proxy-mode.*"block".*track.*enforce.*off/s,
    ],
    ['platform.io/agent-port', '4000', /4000/],
  ])('%s: "%s" is rejected with a readable message', async (name, value, message) => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'refused',
        annotations: { 'platform.io/inject': 'true', 'platform.io/agent-name': 'refused', [name]: value },
      },
      spec: { containers: [{ name: 'agent', image: cluster.imageRef('example-agents') }] },
    };
    await expect(kubectl.apply([pod])).rejects.toThrow(message);
    expect(await kubectl.run('get', 'pod', 'refused', '--ignore-not-found')).toBe('');
  });
});

/** One agent per concurrent failure. */
const CARELESS = 'careless';
const MORTAL = 'mortal';
const MISCONFIGURED = 'misconfigured';

async function deploy(name: string, env: Record<string, string> = {}): Promise<void> {
  const annotations = { 'platform.io/policy-proxy-mode': 'enforce' };
  const image = cluster.imageRef('example-agents');
  await kubectl.apply(agentWorkload({ name, image, annotations, env }));
  await kubectl.rolledOut(`deploy/${name}`);
}

/** Deploys an agent that skips a declared guardrail; returns the client's response after the violation is counted. */
async function skipsAGuardrail(): Promise<unknown> {
  await deploy(CARELESS, { AGENT_FAULTS: 'pii-only-for-long-messages' });
  const forward = await cluster.forward({ namespace: NAMESPACE, name: CARELESS, port: 80 });
  try {
    const { result } = await eventually(
      'a response of the agent through the Service',
      async () => {
        const response = await fetch(`${forward.url}/v1/chat`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ message: 'Hello' }),
        });
        return {
          status: response.status,
          header: response.headers.get('x-platform-policy-violations'),
          body: await response.json(),
        };
      },
      // The agent's container has no readiness probe: its pod is Ready before it listens.
      ({ status }) => status !== 502,
    );
    // Without a violation, the observation would never show one.
    expect(result).toMatchObject({ status: 403 });
    const isCounted = (seen: Observation) =>
      seen.status?.violations === 1 &&
      hasIssues(seen, 'policy.pii_detector_not_invoked') &&
      conditionOf(seen, 'Compliant')?.status === 'False';
    await shows('the violation in kubectl', isCounted, CARELESS);
    return result;
  } finally {
    await forward.close();
  }
}

async function diesAndComesBack(): Promise<void> {
  await deploy(MORTAL);
  await eventually('a healthy agent', () => observation(MORTAL), isHealthy);
  await kubectl.script(`deploy/${MORTAL}`, 'agent', TAKE_DOWN);
  const isDead = (seen: Observation): boolean => {
    const { score, phase, grade, issues } = seen.status ?? {};
    return (
      score === 70 &&
      phase === 'Degraded' &&
      grade === 'C' &&
      issues?.length === 2 &&
      hasIssues(seen, 'discoverable', 'healthcheckable') &&
      conditionOf(seen, 'AgentReachable')?.status === 'False'
    );
  };
  await shows('the dead agent in kubectl', isDead, MORTAL);
  await kubectl.script(`deploy/${MORTAL}`, 'agent', BRING_BACK);
  await shows('the recovered agent in kubectl', isHealthy, MORTAL);
}

async function breaksItsManifest(): Promise<void> {
  await deploy(MISCONFIGURED);
  const read = `console.log(require('node:fs').readFileSync(process.env.MANIFEST_PATH ?? '/manifest/agent.yaml', 'utf8'))`;
  const mounted = () => kubectl.script(`deploy/${MISCONFIGURED}`, 'platform-sidecar', read);
  // The kubelet updates the mounted ConfigMap when it next processes the pod; a changed annotation causes this. The two
  // intervals start after the update.
  const put = async (manifest: string) => {
    await kubectl.apply([manifestConfigMap(MISCONFIGURED, manifest)]);
    const annotation = `e2e.test/manifest=${manifest.length}`;
    await kubectl.run('annotate', 'pods', '-l', `app=${MISCONFIGURED}`, annotation, '--overwrite');
    await eventually('the manifest in the pod', mounted, (text) => text.trim() === manifest.trim());
  };
  const isInvalid = (seen: Observation): boolean =>
    hasIssues(seen, 'manifest.invalid') && seen.status?.score === 80;
  const manifest = manifestOf(MISCONFIGURED);
  await put(manifest.replace('kind: PlatformAgent', 'kind: Wrong'));
  await shows('manifest.invalid in kubectl', isInvalid, MISCONFIGURED);
  await put(manifest);
  await shows('the fixed manifest in kubectl', (seen) => seen.status?.score === 100, MISCONFIGURED);
}

describe('kubectl shows', () => {
  let runs: { careless: Promise<unknown>; mortal: Promise<void>; misconfigured: Promise<void> };

  // Run concurrently, because they mostly wait for heartbeats.
  beforeAll(() => {
    runs = {
      careless: skipsAGuardrail(),
      mortal: diesAndComesBack(),
      misconfigured: breaksItsManifest(),
    };
    // Failures are reported by the tests that await the result.
    for (const run of Object.values(runs)) run.catch(() => undefined);
  });

  test('a working agent: NAME PHASE GRADE SCORE TOKENS CHECKED with the tokens that the agent counted', async () => {
    await chat(2);
    const counted = await tokensCountedByAgent();
    expect(counted).toBeGreaterThan(0);
    await eventually('the tokens in the observation', observation, (seen) => seen.status?.tokens === counted);
    const cells = (line = '') => line.trim().split(/\s+/);
    const table = async () =>
      (await kubectl.run('get', 'agentobservations', AGENT)).trim().split('\n').map(cells);
    const { result } = await eventually('a healthy row', table, ([, row = []]) => row[1] === 'Healthy');
    expect(result[0]).toEqual(['NAME', 'PHASE', 'GRADE', 'SCORE', 'TOKENS', 'CHECKED']);
    expect(result[1]?.slice(0, 5)).toEqual([AGENT, 'Healthy', 'A', '100', String(counted)]);
  });

  test('an agent that skips a declared guardrail is blocked in enforce mode, and the violation is counted', async () => {
    expect(await runs.careless).toEqual({
      status: 403,
      header: 'pii_detector_not_invoked',
      body: {
        error: 'PolicyViolation',
        blocked: true,
        violations: ['pii_detector_not_invoked'],
        message: expect.stringContaining('pii_detector_not_invoked'),
      },
    });
  });

  test('a dead agent', async () => {
    await runs.mortal;
  });

  test('a broken manifest', async () => {
    await runs.misconfigured;
    await kubectl.run('delete', 'deploy,service', CARELESS, MORTAL, MISCONFIGURED);
  });

  test('a stopped control plane, as Unknown by the stale limit', async () => {
    const [name] = (await system.run('get', 'deploy', '-o', 'name'))
      .split('\n')
      .filter((each) => each.endsWith('control-plane'));
    await system.run('scale', String(name), '--replicas=0');
    await eventually(
      'platform check to find only this failure',
      () => platform('check', '-o', 'json'),
      ({ code, stdout }) =>
        code === 1 && codesIn(stdout).join() === 'deployment-unavailable,process-not-ready',
    );
    if (!IN_SOAK) await age(AGENT);
    await shows(
      'Unknown in kubectl',
      (seen) =>
        seen.status?.phase === 'Unknown' &&
        ['Reporting', 'Ready'].every((type) => conditionOf(seen, type)?.status === 'False'),
      AGENT,
      IN_SOAK ? 'Unknown after the last heartbeat' : 'a change in the observation',
    );
    await system.run('scale', String(name), '--replicas=1');
    await system.rolledOut(String(name));
    await shows('the observation healed', isHealthy);
  });
});

describe('uninstalling', () => {
  test('deleting the Deployment removes the observation', async () => {
    await kubectl.run('delete', 'deploy', AGENT);
    await eventually(
      'the observation gone',
      () => kubectl.run('get', 'ao', AGENT, '--ignore-not-found'),
      (output) => output === '',
    );
  });

  test('helm uninstall keeps only the CRD and the namespace of registered agents', async () => {
    const result = await helm('uninstall', RELEASE, '--wait', '--timeout', HELM_TIMEOUT);
    expect(result).toMatchObject({ code: 0 });
    const kinds =
      'clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings,namespaces,crds';
    const names = async (what: string, isOurs: (name: string) => boolean) =>
      (await system.run('get', what, '-o', 'name')).split('\n').filter((name) => name !== '' && isOurs(name));
    const left = () => names(kinds, (name) => /platform|agent-compliance/.test(name));
    const kept = [
      'customresourcedefinition.apiextensions.k8s.io/agentobservations.platform.io',
      'customresourcedefinition.apiextensions.k8s.io/agentpolicies.platform.io',
      'customresourcedefinition.apiextensions.k8s.io/agentstops.platform.io',
      'namespace/platform-remote',
      `namespace/${SYSTEM_NAMESPACE}`,
    ];
    // Helm waits only for its own objects; their dependent objects are deleted later.
    await eventually('what is kept, and no more', left, (found) => isDeepStrictEqual(found.sort(), kept));
    const inside = () =>
      names(
        'all,secrets,configmaps,serviceaccounts,roles,rolebindings,leases,events',
        (name) =>
          !name.startsWith('event') &&
          !name.endsWith('/kube-root-ca.crt') &&
          !name.endsWith('serviceaccount/default'),
      );
    await eventually('an empty namespace', inside, (found) => found.length === 0);
  });

  test('platform uninstall --verify finds no leftovers and lists the kept objects', async () => {
    const { code, stdout } = await platform('uninstall', '--verify');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('nothing is left') });
    expect(stdout).toContain('CustomResourceDefinition agentobservations.platform.io is kept');
    expect(stdout).toContain('CustomResourceDefinition agentpolicies.platform.io is kept');
    expect(stdout).toContain('CustomResourceDefinition agentstops.platform.io is kept');
    expect(stdout).toContain('Namespace platform-remote is kept');
  });

  test('a pod that opts in afterwards starts as an ordinary pod', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'after', annotations: { 'platform.io/inject': 'true' } },
      spec: {
        containers: [
          { name: 'agent', image: cluster.imageRef('example-agents'), imagePullPolicy: 'IfNotPresent' },
        ],
      },
    };
    await kubectl.apply([pod]);
    const seen = await kubectl.get<{ spec: { initContainers?: unknown } }>('pod', 'after');
    expect(seen.spec.initContainers).toBeUndefined();
    await kubectl.run('delete', 'pod', 'after', '--now');
  });
});

/** The README's commands use the images of `make cluster-up` and kind.sh, so they need a cluster with these images. */
const hasOwnImages = ['E2E_IMAGE_PREFIX', 'E2E_IMAGE_TAG'].every((name) => process.env[name] === undefined);

(hasOwnImages ? describe : describe.skip)('the commands of README.md', () => {
  beforeAll(() => removeKept(cluster));

  afterAll(async () => {
    await helm('uninstall', 'agent-compliance', '--ignore-not-found', '--wait');
    await removeKept(cluster);
  });

  test.each(documentedCommands('README.md', 'In Kubernetes'))('$title', async ({ commands, output }) => {
    const type = () => cluster.exec(['bash', '-euo', 'pipefail', '-c', commands]);
    const typed = await type();
    // Commands that wait for a minute are repeated on slower machines.
    const isLate = ({ code, stderr }: RunResult) => code !== 0 && stderr.includes('timed out waiting');
    const { code, stdout, stderr } = isLate(typed)
      ? (await eventually(commands, type, (again) => !isLate(again))).result
      : typed;
    if (code !== 0) throw new Error(`exit code ${code}\n${stdout}\n${stderr}`);
    // All columns except CHECKED, which is a relative time.
    const cells = (line: string) => line.trim().split(/\s+/).slice(0, -1).join(' ');
    const hasAll = (said: string) =>
      output.every((line) => said.split('\n').map(cells).includes(cells(line)));
    // An agent that starts slowly on a busy machine may first have another report.
    if (!hasAll(stdout)) await eventually(output.join('\n'), async () => (await type()).stdout, hasAll);
  });

  test('leave nothing behind', async () => {
    const verify = async () => {
      const { code, stdout } = await platform('uninstall', '--verify', '-o', 'json');
      return { code, left: (JSON.parse(stdout) as { left: unknown[] }).left };
    };
    await eventually('nothing left', verify, ({ code, left }) => code === 0 && left.length === 0);
    // Removed by the operator or by the garbage collector, which discovers new kinds every 30 s.
    const observations = () => kubectl.run('get', 'ao', '--all-namespaces', '--ignore-not-found');
    await eventually('the end of the observation', observations, (said) => said === '');
  });
});
