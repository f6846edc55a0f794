// Upgrades a release of version 0.1.0 to this chart with the current images; in `make soak` also rolls back and upgrades again.
// Agents, their data, keys and certificates must be the same after each step, and no step may interrupt the traffic.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { parse } from 'yaml';
import { aHeartbeat } from '../testing/fleet/heartbeat.ts';
import { IN_SOAK } from '../testing/time/real-time.ts';
import { adminApi } from './admin-api.ts';
import { watchAdmission, type AdmissionTally } from './admission-watch.ts';
import { startCluster, type Cluster } from './cluster/cluster.ts';
import type { RunResult } from './cluster/run.ts';
import {
  keptState,
  type Installation,
  type KeptState,
  type ListedAgent,
  type Observation,
} from './kept-state.ts';
import { eventually, kubectlOf, TEST_MS, type Kubectl, type KubeObject } from './kubectl.ts';
import {
  CHART,
  HELM_MS,
  HELM_TIMEOUT,
  leave,
  RELEASE,
  SYSTEM_NAMESPACE,
  uninstallProduct,
  valuesFor,
} from './product.ts';
import {
  lingeringDeployment,
  podTemplate,
  programContainer,
  programsConfigMap,
  type PodObject,
  type ServiceObject,
} from './program-pods.ts';

jest.setTimeout(TEST_MS);

const FROZEN = join(import.meta.dirname, 'fixtures/agent-compliance-0.1.0.tgz');
const FROZEN_SHA256 = '1c6f2b3b2295c24f35fcff8df8639acfbddd5ce347bd78719a87a1db54bd8181';
const PRESENT = (parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')) as { version: string }).version;
const PRODUCT = `${RELEASE}-agent-compliance`;
const NAMESPACE = 'upgrade-team';
const AGENT = 'steady';
const REMOTE = 'far-away';
const NAMESPACE_OF: Record<string, string> = { [REMOTE]: 'platform-remote' };
/** The final state of both agents after their first reports. */
const SETTLED = ['Reporting', 'AgentReachable'];
const PROOF = { ruleId: 'EVAL-01', verifiedBy: 'auditor@example.com', method: 'read the report' };
/**
 * Allowed consecutive rejections of heartbeats (two per second) and of pods (three per second). Measured: none; five or more if
 * all replicas end before a new one is ready.
 */
const MAX_REJECTION_STREAK = 4;
/** Long probe timeouts, so that a busy machine restarts no container. */
const PATIENT = {
  httpGet: { path: '/health', port: 'http' },
  periodSeconds: 2,
  timeoutSeconds: 20,
  failureThreshold: 10,
};

let cluster: Cluster;
let kubectl: Kubectl;
let system: Kubectl;
let installation: Installation;
/** As in version 0.1.0. */
let first: KeptState;
let agentPod: string;
/** Fields in the status of the agent's observation, by step. */
const fieldsAfter: string[][] = [];

async function helm(...args: string[]): Promise<void> {
  const values = valuesFor(cluster);
  const controlPlane = { ...values['controlPlane'], rateLimitSeconds: 0 };
  // A slow response is not an error.
  const webhook = { ...values['webhook'], timeoutSeconds: 30 };
  const command = ['helm', '-n', SYSTEM_NAMESPACE, ...args, '--wait', '--timeout', HELM_TIMEOUT];
  const input = JSON.stringify({ ...values, controlPlane, webhook });
  const { code, stderr } = await cluster.exec(command, { input, timeoutMs: HELM_MS });
  if (code !== 0) throw new Error(`${stderr}\n${await system.run('get', 'pods,events')}`);
}

type Step = readonly [what: string, version: string, step: () => Promise<void>];
const STEPS: readonly Step[] = [
  ['the upgrade to this chart', PRESENT, () => helm('upgrade', RELEASE, CHART, '-f', '-')],
  ...(IN_SOAK
    ? ([
        ['the rollback to 0.1.0', '0.1.0', () => helm('rollback', RELEASE, '1')],
        // With only the values of 0.1.0, except the value that is now rejected; values added later are missing.
        [
          'the upgrade with --reuse-values',
          PRESENT,
          () =>
            helm(
              'upgrade',
              RELEASE,
              CHART,
              '--reuse-values',
              '--set',
              'webhook.resources.limits.memory=384Mi',
            ),
        ],
      ] satisfies Step[])
    : []),
];

interface Tally {
  accepted: number;
  mostInARow: number;
  rejections: string[];
}
const remoteTally = async () =>
  JSON.parse(
    await kubectl.script(
      REMOTE,
      'program',
      `fetch('http://127.0.0.1:8000').then((answer) => answer.text()).then(console.log)`,
    ),
  ) as Tally;

/**
 * A pod with one of e2e/programs, not injected, that sends requests to one Service. It has the Service's address, because the
 * cluster's DNS is not under test.
 */
async function startProgram(
  name: string,
  service: { namespace: string; name: string },
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<void> {
  const { spec: target } = await kubectlOf(cluster, service.namespace).get<ServiceObject>(
    'service',
    service.name,
  );
  const hostAliases = [{ ip: target.clusterIP, hostnames: [`${service.name}.${service.namespace}.svc`] }];
  const container = {
    ...programContainer('program', cluster.imageRef('example-agents'), args),
    env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
  };
  const { metadata, spec } = podTemplate(name, [container], {
    spec: { restartPolicy: 'Never', hostAliases },
  });
  await kubectl.apply([{ apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata }, spec }]);
}

/** A bare pod of such an agent, for dry runs only. */
function optedInPod(): KubeObject {
  const [, deployment] = lingeringDeployment('asked-for', cluster.imageRef('example-agents')) as [
    KubeObject,
    { spec: { template: { metadata: object; spec: object } } },
  ];
  const { metadata, spec } = deployment.spec.template;
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'asked-for', ...metadata }, spec };
}

/** Registers the remote agent and starts its heartbeats. */
async function startRemote(): Promise<void> {
  const body = { agentName: REMOTE, runtime: 'other' };
  const { apiKey } = await installation.admin<{ apiKey: string }>('/api/v1/register', {
    method: 'POST',
    body,
  });
  const service = { namespace: SYSTEM_NAMESPACE, name: `${PRODUCT}-control-plane` };
  const authority = await system.get<{ data: Record<string, string> }>('secret', `${PRODUCT}-webhook-tls`);
  const env = {
    PLATFORM_URL: `https://${service.name}.${service.namespace}.svc:8080`,
    PLATFORM_KEY: apiKey,
    PLATFORM_CA: Buffer.from(String(authority.data['ca.crt']), 'base64').toString(),
    HEARTBEAT: JSON.stringify(aHeartbeat({ instance: REMOTE, intervalSeconds: 10 })),
  };
  await startProgram(REMOTE, service, ['remote-agent.ts'], env);
}

async function startAgent(name: string): Promise<void> {
  const container = { readinessProbe: PATIENT, livenessProbe: PATIENT };
  await kubectl.apply(lingeringDeployment(name, cluster.imageRef('example-agents'), { container }));
  await kubectl.rolledOut(`deploy/${name}`);
}

const statusFields = async () => Object.keys((await installation.observation(AGENT)).status ?? {});

async function settled(agent: string): Promise<void> {
  const isSettled = ({ status }: Observation) =>
    SETTLED.every((type) => status?.conditions?.some((each) => each.type === type && each.status === 'True'));
  await eventually(`what ${agent} reports`, () => installation.observation(agent), isSettled);
}

beforeAll(async () => {
  cluster = await startCluster();
  await uninstallProduct(cluster);
  kubectl = kubectlOf(cluster, NAMESPACE);
  system = kubectlOf(cluster, SYSTEM_NAMESPACE);
  installation = {
    system,
    product: PRODUCT,
    admin: async (path, request) => (await adminApi<never>(kubectl, `deploy/${AGENT}`, path, request)).body,
    observation: (agent) => kubectlOf(cluster, NAMESPACE_OF[agent] ?? NAMESPACE).get('ao', agent),
  };
  await kubectl.run('create', 'namespace', NAMESPACE);
  await helm('install', RELEASE, FROZEN, '--create-namespace', '-f', '-');
  await kubectl.apply([programsConfigMap()]);
  await startAgent(AGENT);
  agentPod = await kubectl.run('get', 'pods', '-l', `app=${AGENT}`, '-o', 'name');
  const url = `http://${AGENT}.${NAMESPACE}.svc`;
  await startProgram('client', { namespace: NAMESPACE, name: AGENT }, [
    'steady-client.ts',
    url,
    '4',
    'fresh',
  ]);
  await startRemote();
  for (const agent of [AGENT, REMOTE]) {
    await settled(agent);
    const path = `/api/v1/agents/${agent}/proof/rule/${PROOF.ruleId}`;
    const { verifiedBy, method } = PROOF;
    await installation.admin(path, { method: 'POST', body: { verifiedBy, method } });
  }
  first = await keptState(installation, [AGENT, REMOTE]);
});

afterAll(async () => {
  await leave(cluster, NAMESPACE);
});

test('the installed chart is the frozen version 0.1.0, and this chart is a different version', () => {
  expect(createHash('sha256').update(readFileSync(FROZEN)).digest('hex')).toBe(FROZEN_SHA256);
  expect(PRESENT).not.toBe('0.1.0');
  expect(first.agentIds[REMOTE]).toMatch(/^agt_/);
  for (const agent of [AGENT, REMOTE]) expect(first.proofs[agent]).toEqual([expect.objectContaining(PROOF)]);
});

describe.each(STEPS)('%s', (what, version, step) => {
  const newcomer = `newcomer-${STEPS.findIndex(([each]) => each === what)}`;
  let admission: AdmissionTally;
  let now: KeptState;
  let doneAt: number;

  beforeAll(async () => {
    const watch = watchAdmission(cluster, NAMESPACE, optedInPod());
    try {
      await step();
      doneAt = Date.now();
      // The previous injectors end in the meantime.
      await startAgent(newcomer);
      await settled(newcomer);
    } finally {
      admission = await watch.end();
    }
    now = await keptState(installation, [AGENT, REMOTE]);
    fieldsAfter.push(await statusFields());
  });

  test('admits pods that opt in without interruption, and none without a sidecar', () => {
    const { rejections, longestRejectionStreak: mostRefused } = admission;
    const isBounded = mostRefused <= MAX_REJECTION_STREAK;
    expect({ rejections, isBounded, bare: admission.bare }).toMatchObject({ isBounded: true, bare: 0 });
    expect(admission.admitted).toBeGreaterThan(10);
  });

  test('keeps the observations and the lastTransitionTime of their conditions', () => {
    expect(now.uids).toEqual(first.uids);
    for (const [agent, conditions] of Object.entries(first.conditions)) {
      // Since 0.2.0 Compliant needs evidence, which the status of 0.1.0 lacks, so Compliant is Unknown until the next heartbeat.
      // The images are of this version, and the chart 0.1.0 gives no right to list AgentPolicies, so Allowed is Unknown before.
      const lasting = conditions.filter(({ type }) => type !== 'Compliant' && type !== 'Allowed');
      const wanted = lasting.map(({ type, status, lastTransitionTime }) =>
        expect.objectContaining({ type, status, lastTransitionTime }),
      );
      expect(now.conditions[agent]).toEqual(expect.arrayContaining(wanted));
    }
  });

  test('keeps the CA and the certificates, and the CA bundle of the API server', () => {
    expect({ certificates: now.certificates, trust: now.trust }).toEqual({
      certificates: first.certificates,
      trust: first.trust,
    });
    expect(Object.keys(now.certificates)).toContain(`${PRODUCT}-webhook-tls/ca.crt`);
  });

  test('keeps the proofs and the ids of registered agents', () => {
    expect(now.proofs).toEqual(first.proofs);
    expect(now.agentIds).toEqual(first.agentIds);
  });

  test('accepts the heartbeats of the registered agent with its existing key without interruption', async () => {
    const tally = await remoteTally();
    const { mostInARow, rejections } = tally;
    expect({ rejections, isBounded: mostInARow <= MAX_REJECTION_STREAK }).toMatchObject({ isBounded: true });
    expect(tally.accepted).toBeGreaterThan(10);
    expect(rejections.filter((rejection) => /40[13]$/.test(rejection))).toEqual([]);
  });

  test('accepts the heartbeats of the previously injected pod', async () => {
    const isHeard = (listed: ListedAgent[]) =>
      listed.some(({ agentName, lastSeen }) => agentName === AGENT && Date.parse(lastSeen ?? '') > doneAt);
    await eventually(
      `a heartbeat of ${AGENT}`,
      () => installation.admin<ListedAgent[]>('/api/v1/agents'),
      isHeard,
    );
  });

  test('installs the CRD of this version, for which the stored objects are valid', async () => {
    const definition = await system.get<{ metadata: { labels: Record<string, string> } }>(
      'crd',
      'agentobservations.platform.io',
    );
    expect(definition.metadata.labels['helm.sh/chart']).toBe(`agent-compliance-${version}`);
    const replace = ['kubectl', 'replace', '--subresource=status', '--dry-run=server', '-f', '-'];
    const replaced = async (agent: string) =>
      cluster.exec(replace, { input: JSON.stringify(await installation.observation(agent)) });
    // Retried after a concurrent write.
    const isValid = ({ code, stderr }: RunResult) => code === 0 && stderr === '';
    for (const agent of [AGENT, REMOTE, newcomer])
      await eventually(`that of ${agent} is valid`, () => replaced(agent), isValid);
  });
});

describe('after all steps', () => {
  test('the agent still runs in the same pod, and no request was lost', async () => {
    expect(await kubectl.run('get', 'pods', '-l', `app=${AGENT}`, '-o', 'name')).toBe(agentPod);
    const pod = await kubectl.get<PodObject>(...(agentPod.trim().split('/') as [string, string]));
    const { initContainerStatuses = [], containerStatuses = [] } = pod.status;
    expect([...initContainerStatuses, ...containerStatuses].map(({ restartCount }) => restartCount)).toEqual([
      0, 0,
    ]);
    await kubectl.script('client', 'program', `process.kill(1, 'SIGTERM')`);
    await kubectl.waitFor('jsonpath={.status.phase}=Succeeded', 'pod/client');
    const log = (await kubectl.run('logs', 'client')).trim().split('\n');
    expect(JSON.parse(log.at(-1) ?? '')).toMatchObject({ fresh: { failed: 0, failures: [] } });
  });

  if (IN_SOAK)
    test('the status has the same fields as after the first upgrade', async () => {
      const [wanted = []] = fieldsAfter;
      expect(wanted).toContain('conditions');
      const isWhole = (fields: string[]) => wanted.every((field) => fields.includes(field));
      await eventually(`the fields ${wanted.join(', ')}`, statusFields, isWhole);
    });

  test('registering again returns the existing agent', async () => {
    const body = { agentName: REMOTE, runtime: 'other' };
    const request = { method: 'POST', body } as const;
    const result = await adminApi<{ agentId: string }>(
      kubectl,
      `deploy/${AGENT}`,
      '/api/v1/register',
      request,
    );
    expect({ status: result.status, agentId: result.body.agentId }).toEqual({
      status: 200,
      agentId: first.agentIds[REMOTE],
    });
  });
});
