// Error messages of the chart for invalid or contradictory values; each row is one mistake.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { CHART, render, template, type ChartObject } from '../testing/cluster/rendered-chart.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;

/** The values that are set together, and parts of the error message. */
type Rejection = [set: string[], ...messages: string[]];

/** Rejected by values.schema.json: unknown keys, types, ranges and enumerations, with the path. */
const BY_SCHEMA: Rejection[] = [
  [['webhok.replicas=1'], "'': additional properties 'webhok' not allowed"],
  [['policy.engine=magic'], "'/policy/engine': value must be one of 'builtin', 'opa', 'none'"],
  [['policy.mode=block'], "'/policy/mode': value must be one of 'track', 'enforce', 'off'"],
  [['guard.action=maybe'], "'/guard/action': value must be one of 'deny', 'warn', 'off'"],
  [['guard.alsoAllowed.env={A B}'], "'/guard/alsoAllowed/env/0'"],
  [["guard.alsoAllowed.tokenUsers={a' || true}"], "'/guard/alsoAllowed/tokenUsers/0'"],
  [["guard.alsoAllowed.execGroups={a' || true}"], "'/guard/alsoAllowed/execGroups/0'"],
  [['guard.alsoAllowed.mounts={/etc/ssl}'], "'/guard/alsoAllowed/mounts/0'"],
  [['guard.alsoAllowed.mounts={/run/../etc}'], "'/guard/alsoAllowed/mounts/0'"],
  [['sidecar.heartbeatSeconds=5'], "'/sidecar/heartbeatSeconds': minimum: got 5, want 10"],
  [['webhook.replicas=0'], "'/webhook/replicas': minimum: got 0, want 1"],
  [['webhook.replicas=21'], "'/webhook/replicas': maximum: got 21, want 20"],
  [['webhook.replicas=two'], "'/webhook/replicas': got string, want integer"],
  [['webhook.timeoutSeconds=31'], "'/webhook/timeoutSeconds': maximum: got 31, want 30"],
  [['webhook.timeoutSeconds=0'], "'/webhook/timeoutSeconds': minimum: got 0, want 1"],
  [['canary.intervalSeconds=0'], "'/canary/intervalSeconds': minimum: got 0, want 1"],
  [['controlPlane.rateLimitSeconds=3601'], "'/controlPlane/rateLimitSeconds': maximum"],
  [
    ['operator.terminationGracePeriodSeconds=5'],
    "'/operator/terminationGracePeriodSeconds': minimum: got 5, want 15",
  ],
  [['image.pullPolicy=Sometimes'], "'/image/pullPolicy'"],
  [['image.pullSecrets={A B}'], "'/image/pullSecrets/0'"],
  [['remote.namespace=Remote'], "'/remote/namespace'"],
  [['remote.controlPlane.url=ftp://fleet.example'], "'/remote/controlPlane/url'"],
  [['remote.controlPlane.url=https://user:pass@fleet.example'], "'/remote/controlPlane/url'"],
  [['remote.controlPlane.pollSeconds=0'], "'/remote/controlPlane/pollSeconds': minimum: got 0, want 1"],
  [['canary.namespace='], "'/canary/namespace'"],
  [['controlPlane.service.type=ExternalName'], "'/controlPlane/service/type': value must be one of"],
  [['controlPlane.service.port=70000'], "'/controlPlane/service/port': maximum"],
  [['webhook.resources.request.cpu=1'], "'/webhook/resources': additional properties 'request' not allowed"],
  [
    ['webhook.resources.limits.CPU=1'],
    "'/webhook/resources/limits': additional properties 'CPU' not allowed",
  ],
  [['sidecar.resources.requests.cpu=null'], "'/sidecar/resources/requests': missing property 'cpu'"],
  [['sidecar.resources.limits.memory=null'], "'/sidecar/resources/limits': missing property 'memory'"],
  [['operator.tolerations[0].keys=x'], "additional properties 'keys' not allowed"],
  [['operator.affinity.antiAffinity.x=y'], "'/operator/affinity': additional properties 'antiAffinity'"],
  [['operator.podAnnotations.a b=x'], "'/operator/podAnnotations': additional properties 'a b' not allowed"],
  [['operator.nodeSelector.disk=1'], "'/operator/nodeSelector/disk': got number, want string"],
  [['operator.priorityClassName=Very High'], "'/operator/priorityClassName'"],
  [['adminKey.existingSecret=My Secret'], "'/adminKey/existingSecret'"],
  [['adminKey.secretKey=a b'], "'/adminKey/secretKey'"],
  [['adminKey.value=change-me'], "'/adminKey/value'"],
  [['webhook.podDisruptionBudget.minAvailable=0'], 'minimum: got 0, want 1'],
  [['networkPolicy.apiServerPorts={https}'], "'/networkPolicy/apiServerPorts/0': got string, want integer"],
  [['networkPolicy.metricsFrom[0].namespace=x'], "additional properties 'namespace' not allowed"],
  [['monitoring.serviceMonitor.interval=5h'], "'/monitoring/serviceMonitor/interval'"],
  [['controlPlane.oidc.issuer=http://login.example'], "'/controlPlane/oidc/issuer'"],
  [['controlPlane.oidc.issuer=https://user:pass@login.example'], "'/controlPlane/oidc/issuer'"],
  [['controlPlane.oidc.publicUrl=https://agents.example/ui'], "'/controlPlane/oidc/publicUrl'"],
  [['controlPlane.oidc.scopes={profile}'], "'/controlPlane/oidc/scopes'"],
  [['controlPlane.oidc.audiences={a,}'], "'/controlPlane/oidc/audiences/1'"],
  [['controlPlane.oidc.prefix='], "'/controlPlane/oidc/prefix'"],
  [['controlPlane.oidc.sessionHours=13'], "'/controlPlane/oidc/sessionHours': maximum: got 13, want 12"],
  [['controlPlane.readKey.secretKey='], "'/controlPlane/readKey/secretKey'"],
  [['llmAnalysis.existingSecret=My Secret'], "'/llmAnalysis/existingSecret'"],
  [['llmAnalysis.provider=claude-subscription'], "'/llmAnalysis/provider': value must be one of"],
  [['llmAnalysis.model=a b'], "'/llmAnalysis/model'"],
  [["llmAnalysis.baseUrl=https://llm.example/' || true"], "'/llmAnalysis/baseUrl'"],
  [['llmAnalysis.baseUrl=https://user:pass@llm.example'], "'/llmAnalysis/baseUrl'"],
  [['llmAnalysis.timeoutSeconds=4'], "'/llmAnalysis/timeoutSeconds': minimum: got 4, want 5"],
  [['llmAnalysis.tokensPerDay=0'], "'/llmAnalysis/tokensPerDay': minimum: got 0, want 1"],
  [['llmAnalysis.usdPerDay=free'], "'/llmAnalysis/usdPerDay'"],
  [['sidecar.otlp.collector=collector:4318'], "'/sidecar/otlp/collector'"],
  [['sidecar.otlp.collector=https://user:pass@collector'], "'/sidecar/otlp/collector'"],
  [['sidecar.otlp.collector=https://collector/?x=1'], "'/sidecar/otlp/collector'"],
  [["sidecar.otlp.collector=http://collector' || true"], "'/sidecar/otlp/collector'"],
  [
    ['controlPlane.store.type=mysql'],
    "'/controlPlane/store/type': value must be one of 'kubernetes', 'sqlite'",
  ],
  [['controlPlane.store.path=/data'], "'/controlPlane/store': additional properties 'path' not allowed"],
  [['controlPlane.store.sqlite.accessMode=ReadWriteMany'], "'/controlPlane/store/sqlite/accessMode'"],
  [['controlPlane.store.sqlite.storageClass=Fast Disks'], "'/controlPlane/store/sqlite/storageClass'"],
  [['controlPlane.store.sqlite.existingClaim=My Claim'], "'/controlPlane/store/sqlite/existingClaim'"],
  [['controlPlane.store.postgres.url=postgres://db'], "additional properties 'url' not allowed"],
  [['controlPlane.store.postgres.existingSecret=My DB'], "'/controlPlane/store/postgres/existingSecret'"],
  [['controlPlane.store.postgres.urlKey='], "'/controlPlane/store/postgres/urlKey'"],
  [['controlPlane.store.postgres.caKey=ca crt'], "'/controlPlane/store/postgres/caKey'"],
  [['controlPlane.store.postgres.pool=51'], "'/controlPlane/store/postgres/pool': maximum: got 51, want 50"],
  [['controlPlane.store.keepHeartbeats=0'], "'/controlPlane/store/keepHeartbeats': minimum: got 0, want 1"],
  [['controlPlane.store.keepHourlyDays=401'], "'/controlPlane/store/keepHourlyDays': maximum"],
  [['controlPlane.store.keepDailyDays=3661'], "'/controlPlane/store/keepDailyDays': maximum"],
  [['controlPlane.store.auditRetentionDays=0'], "'/controlPlane/store/auditRetentionDays': minimum"],
  [['controlPlane.store.removeAfterDays=-1'], "'/controlPlane/store/removeAfterDays': minimum"],
  [['networkPolicy.database.ports={}'], "'/networkPolicy/database/ports"],
  [['networkPolicy.database.to[0].host=db'], "additional properties 'host' not allowed"],
];

/** Rejected by templates/_checks.tpl with its own messages. */
const BY_CHECK: Rejection[] = [
  [['policy.minimumMode=enforce'], 'policy.mode: track is below policy.minimumMode (enforce)'],
  [['policy.mode=off', 'policy.minimumMode=track'], 'policy.mode: off is below policy.minimumMode'],
  [
    ['remote.controlPlane.url=https://fleet.example'],
    'remote.controlPlane.existingSecret: required with remote.controlPlane.url',
  ],
  [
    ['guard.action=off', 'policy.mode=enforce', 'policy.minimumMode=enforce'],
    'guard.action: off lets agents start without a sidecar while the injector is unavailable',
  ],
  [['policy.engine=none', 'policy.mode=enforce'], 'policy.engine: none evaluates no rule'],
  [['policy.engine=opa'], 'policy.opa.image: required with policy.engine opa'],
  [
    ['sidecar.otlp.collector=http://collector:4318/v1/traces'],
    'sidecar.otlp.collector: must be the base URL of the collector',
  ],
  [
    ['policy.engine=opa', 'policy.opa.image=openpolicyagent/opa:latest'],
    'policy.opa.image: "openpolicyagent/opa:latest" is not a fixed version',
  ],
  [
    ['policy.engine=opa', 'policy.opa.image=registry:5000/opa'],
    'policy.opa.image: "registry:5000/opa" has neither tag nor digest',
  ],
  ...['POLICY_*', 'PROXY_PORT', 'NODE_OPTIONS', 'NO*', 'LD_PRELOAD', 'OPENSSL_CONF', 'PLATFORM_SECRET_X'].map(
    (name): Rejection => [[`guard.alsoAllowed.env={${name}}`], `guard.alsoAllowed.env: "${name}" would let`],
  ),
  ...['/var/run/secrets/platform.io', '/var/run/secrets/kubernetes.io/serviceaccount', '/run/secrets'].map(
    (path): Rejection => [
      [`guard.alsoAllowed.mounts={${path}}`],
      `guard.alsoAllowed.mounts: "${path}" is or covers a mount of the sidecar`,
    ],
  ),
  [['policy.opa.image=docker run opa'], 'policy.opa.image: "docker run opa" is not a valid image reference'],
  [
    ['adminKey.value=a-key-of-sixteen-characters', 'adminKey.existingSecret=s'],
    'adminKey: value and existingSecret are mutually exclusive',
  ],
  [
    ['adminKey.generate=true', 'adminKey.existingSecret=s'],
    'adminKey: existingSecret and generate are mutually exclusive',
  ],
  [['adminKey.value=two words that are long'], 'adminKey.value: must be visible ASCII without spaces'],
  [
    ['controlPlane.oidc.issuer=https://login.example', 'adminKey.value='],
    'controlPlane.oidc.clientId: required with controlPlane.oidc.issuer',
    'controlPlane.oidc.publicUrl: required with controlPlane.oidc.issuer',
    'controlPlane.oidc.sessionSecretKey: required without an admin key',
  ],
  [
    ['controlPlane.oidc.previousSessionSecretKey=old'],
    'controlPlane.oidc.sessionSecretKey: required with previousSessionSecretKey',
  ],
  [
    ['controlPlane.oidc.sessionSecretKey=s'],
    'controlPlane.oidc.existingSecret: required with sessionSecretKey',
  ],
  [['controlPlane.oidc.prefix=system:'], 'controlPlane.oidc.prefix: "system:" could make a token a user'],
  [['controlPlane.oidc.prefix=sys'], 'controlPlane.oidc.prefix: "sys" could make a token a user'],
  [
    ['llmAnalysis.existingSecret=llm', 'llmAnalysis.provider=openai-compatible'],
    'llmAnalysis.model: required with provider openai-compatible',
    'llmAnalysis.baseUrl: required with provider openai-compatible',
  ],
  ...['ANTHROPIC_BASE_URL', 'OPENAI_*', 'LLM_ANALYSIS_USD_PER_DAY'].map((name): Rejection => [
    [`guard.alsoAllowed.env={${name}}`],
    `guard.alsoAllowed.env: "${name}" would let`,
  ]),
  [['canary.namespace=platform-system'], 'canary.namespace: platform-system is excluded from injection'],
  [['canary.namespace=kube-system'], 'canary.namespace: kube-system is excluded from injection'],
  [
    ['canary.namespace=legacy', 'webhook.excludedNamespaces={legacy}'],
    'canary.namespace: legacy is excluded from injection',
  ],
  [['canary.namespace=platform-remote'], 'canary.namespace: platform-remote is also remote.namespace'],
  [['remote.namespace=platform-system'], 'remote.namespace: platform-system contains other objects'],
  [['remote.namespace=kube-system'], 'remote.namespace: kube-system contains other objects'],
  [
    ['networkPolicy.agents.namespaces={platform-system}'],
    "networkPolicy.agents.namespaces: platform-system is the release's namespace",
  ],
  [['operator.image.tag=latest'], 'operator.image.tag: latest is not a fixed version'],
  [['sidecar.image.tag=a b'], 'sidecar.image.tag: "a b" is not a valid tag'],
  [['operator.image.digest=latest'], 'operator.image.digest: "latest" is not a valid digest'],
  [['webhook.image.digest=sha256:abc'], 'webhook.image.digest: "sha256:abc" is not a valid digest'],
  [
    ['controlPlane.image.repository=team/control-plane:1'],
    'controlPlane.image.repository: "team/control-plane:1" is not a valid image name such as team/control-plane',
  ],
  [
    ['image.registry='],
    'image.registry: empty, so a node would pull agent-compliance/operator, agent-compliance/webhook',
  ],
  [
    [
      'image.registry=',
      ...['operator', 'webhook', 'controlPlane'].map(
        (part) => `${part}.image.repository=r.io/${part.toLowerCase()}`,
      ),
    ],
    'image.registry: empty, so a node would pull agent-compliance/sidecar from its default registry',
  ],
  [['image.registry=https://r.example'], 'image.registry: "https://r.example" is not a valid registry'],
  [['sidecar.allowedImages={mirror/sidecar}'], '"mirror/sidecar" has neither tag nor digest'],
  [['sidecar.allowedImages={mirror/sidecar:1;rm}'], '"mirror/sidecar:1;rm" is not a valid image reference'],
  [
    ['webhook.replicas=1', 'webhook.podDisruptionBudget.minAvailable=1'],
    'webhook.podDisruptionBudget.minAvailable: 1 is not less than webhook.replicas (1), so nodes with these pods could not be drained',
  ],
  [
    ['operator.podDisruptionBudget.minAvailable=3'],
    'operator.podDisruptionBudget.minAvailable: 3 is not less than operator.replicas (2)',
  ],
  [
    ['webhook.resources.limits.memory=96Mi', 'webhook.resources.requests.memory=0.1Gi'],
    'webhook.resources.requests.memory: 0.1Gi is over the limit (96Mi)',
  ],
  [
    ['sidecar.resources.requests.cpu=2', 'sidecar.resources.limits.cpu=1'],
    'sidecar.resources.requests.cpu: 2 is over the limit (1)',
  ],
  [
    ['sidecar.resources.requests.cpu=none'],
    'sidecar.resources.requests.cpu: "none" is not a valid quantity such as 250m',
  ],
  [
    ['policy.opa.resources.requests.cpu=600m'],
    'policy.opa.resources.requests.cpu: 600m is over the limit (500m)',
  ],
  [
    ['webhook.resources.limits.memory=319Mi'],
    'webhook.resources.limits.memory: 319Mi is below 320Mi, so a review of the largest pod could terminate the process; use 384Mi',
  ],
  [['operator.resources.limits.memory=64Mi'], 'operator.resources.limits.memory: 64Mi is below 96Mi'],
  [
    ['sidecar.resources.limits.memory=32Gi'],
    'sidecar.resources.limits.memory: 32Gi is not in the range 96Mi to 16Gi',
  ],
  [
    ['webhook.resources.limits.cpu=lots'],
    'webhook.resources.limits.cpu: "lots" is not a valid quantity such as 250m',
  ],
  [
    ['webhook.resources.limits.memory=1MiB'],
    'webhook.resources.limits.memory: "1MiB" is not a valid quantity',
  ],
  [['commonLabels.team=a b'], 'commonLabels.team: "a b" is not a valid label value'],
  [
    ['operator.podLabels.app\\.kubernetes\\.io/name=mine'],
    'operator.podLabels.app.kubernetes.io/name: reserved for the chart',
  ],
  [
    ['monitoring.prometheusRule.enabled=true'],
    'monitoring.prometheusRule.enabled: its alerts need the metrics of monitoring.serviceMonitor',
  ],
  [
    ['controlPlane.store.type=sqlite', 'controlPlane.replicas=2'],
    'controlPlane.replicas: 2 replicas cannot share the database file of controlPlane.store.type sqlite; use 1 replica, or controlPlane.store.type postgres',
  ],
  ...['lots', '0', '63Mi'].map((size): Rejection => [
    ['controlPlane.store.type=sqlite', `controlPlane.store.sqlite.size=${size}`],
    `controlPlane.store.sqlite.size: "${size}" is not a valid size of a volume: use at least 64Mi, such as 8Gi`,
  ]),
  [
    ['controlPlane.store.type=postgres'],
    'controlPlane.store.postgres.existingSecret: required with controlPlane.store.type postgres: a Secret in the namespace platform-system with the URL of the database in the entry url',
  ],
];

/** Reported all at once. */
const TOGETHER: Rejection = [
  ['guard.action=off', 'policy.minimumMode=enforce', 'remote.namespace=default'],
  'policy.mode: track is below',
  'guard.action: off lets',
  'remote.namespace: default contains',
];

const ACCEPTED: string[][] = [
  [
    'image.registry=',
    ...['operator', 'webhook', 'controlPlane'].map(
      (part) => `${part}.image.repository=r.io/${part.toLowerCase()}`,
    ),
    'sidecar.image.repository=localhost/sidecar',
  ],
  ['image.registry=localhost'],
  ['policy.engine=opa', `policy.opa.image=registry:5000/opa@${DIGEST}`],
  ['policy.engine=opa', 'policy.opa.image=localhost/opa:1.22.0-static'],
  ['sidecar.allowedImages={mirror/sidecar:7,r.example:5000/a/b_c-d:1@' + DIGEST + '}'],
  ['guard.action=warn', 'policy.mode=enforce', 'policy.minimumMode=enforce'],
  ['guard.action=off'],
  ['operator.image.tag=latest', `operator.image.digest=${DIGEST}`],
  ['webhook.replicas=1', 'operator.replicas=1'],
  ['webhook.replicas=3', 'webhook.podDisruptionBudget.minAvailable=2'],
  ['webhook.resources.limits=null'],
  ['webhook.resources=null', 'sidecar.resources=null'],
  ['policy=null', 'guard=null', 'canary=null'],
  ['networkPolicy=null', 'monitoring=null', 'adminKey=null', 'operator.podDisruptionBudget=null'],
  ['webhook.resources.limits.cpu=null'],
  ['sidecar.resources.limits.cpu=null', 'sidecar.resources.requests.cpu=64'],
  ['sidecar.resources.limits.cpu=none', 'policy.opa.resources.limits.cpu=none'],
  ['sidecar.resources.limits.cpu=2', 'sidecar.resources.requests.cpu=2'],
  ['webhook.resources.limits.memory=320Mi'],
  ['webhook.resources.limits.memory=1e9', 'webhook.resources.requests.cpu=.5'],
  ['operator.resources.limits.ephemeral-storage=1Gi'],
  ['canary.enabled=false', 'canary.namespace=platform-system'],
  ['global.anything=1'],
  ['controlPlane.store.type=sqlite', 'controlPlane.store.sqlite.size=1073741824'],
  ['controlPlane.store.type=sqlite', 'controlPlane.store.sqlite.existingClaim=mine'],
  [
    'controlPlane.store.type=postgres',
    'controlPlane.store.postgres.existingSecret=database',
    'controlPlane.replicas=20',
  ],
  // Settings of another store have no effect, so that a change of the store is a change of one value.
  ['controlPlane.store.postgres.existingSecret=database', 'controlPlane.replicas=3'],
  ['controlPlane.store=null', 'networkPolicy.database=null'],
];

const sets = (values: readonly string[]) => values.flatMap((value) => ['--set', value]);

const pathOf = (value: string) => value.replace(/=.*/s, '');
const partOf = (value: string) => value.replace(/[.=[].*/s, '');

/**
 * Returns each row with all values of its helm command. The chart reports all problems at once, so rows share a command if they
 * set different values (`place` identifies a value). Each row still finds its own messages.
 */
function batched(
  rows: readonly Rejection[],
  place: (value: string) => string,
): [set: string[], messages: string[], batch: readonly string[]][] {
  const batches: string[][] = [];
  return rows.map(([set, ...messages]): [string[], string[], string[]] => {
    const places = set.map(place);
    const batch = batches.find((others) => !others.some((other) => places.includes(place(other))));
    if (batch === undefined) batches.push([...set]);
    else batch.push(...set);
    return [set, messages, batch ?? batches.at(-1) ?? []];
  });
}

(whyNoControlPlane() ? describe.skip : describe)('the values', () => {
  test.each([...batched(BY_SCHEMA, pathOf), ...batched(BY_CHECK, partOf), ...batched([TOGETHER], partOf)])(
    '%j are rejected: %j',
    async (_set, messages, batch) => {
      const { code, stderr } = await template(...sets(batch));
      expect(code).toBe(1);
      for (const each of messages) expect(stderr).toContain(each);
    },
  );

  test('that are missing use the defaults of values.yaml, and a removed limit stays removed', async () => {
    const whole = await template();
    const parts = Object.keys(parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as object);
    // One value of the image is required.
    const missing = parts.filter((part) => part !== 'image').map((part) => `${part}=null`);
    expect(await template(...sets([...missing, 'image.pullPolicy=null']))).toEqual(whole);
    const { stdout } = await template(...sets(['webhook.resources.limits.cpu=null']));
    expect(stdout.match(/cpu: "1"/g)?.length).toBe((whole.stdout.match(/cpu: "1"/g)?.length ?? 0) - 1);
  });

  test.each(ACCEPTED.map((set) => [set]))('%j are accepted', async (set) => {
    expect(await template(...sets(set))).toMatchObject({ code: 0, stderr: '' });
  });
});

test('the schema contains every value and rejects unknown keys at every depth', () => {
  const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as Schema;
  const values: unknown = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'));
  expect(openPlaces(schema, values, '', schema)).toEqual([]);
});

interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  properties?: Record<string, Schema>;
  additionalProperties?: unknown;
  patternProperties?: unknown;
}

/** Paths of values.yaml at which the schema accepts any key or lacks an existing key. */
function openPlaces(node: Schema | undefined, value: unknown, path: string, root: Schema): string[] {
  const own = node?.$ref ? root.$defs?.[node.$ref.replace('#/$defs/', '')] : node;
  if (own === undefined) return [`${path} is missing`];
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return [];
  if (own.additionalProperties !== false) return [`${path} is open`];
  if (own.patternProperties !== undefined) return [];
  return Object.entries(value).flatMap(([key, inside]) =>
    openPlaces(own.properties?.[key], inside, `${path}/${key}`, root),
  );
}

describe('proofs of injected agents are written', () => {
  interface Deployment extends ChartObject {
    spec: { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } };
  }
  test.each<[string, string[]]>([
    ['local', []],
    ['control-plane', ['adminKey.value=a-key-of-sixteen-characters']],
    ['control-plane', ['adminKey.generate=true']],
    ['control-plane', ['adminKey.existingSecret=admin']],
  ])('as %s with %j', async (expected, set) => {
    const objects = await render<Deployment>(...set);
    const deployments = objects.filter(({ kind }) => kind === 'Deployment');
    const values = deployments
      .flatMap(({ spec }) => spec.template.spec.containers.flatMap(({ env }) => env))
      .flatMap(({ name, value }) => (name === 'PROOF_WRITES' ? [value] : []));
    // The webhook uses the value for injection, and the operator's canary expects the same value.
    expect(values).toEqual([expected, expected]);
  });
});

describe('the LLM analysis', () => {
  interface Deployment extends ChartObject {
    spec: { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } };
  }

  /** The variables of the operator and the webhook for the analysis. */
  const variablesIn = async (...set: string[]): Promise<Record<string, string>[]> => {
    const deployments = (await render<Deployment>(...set)).filter(
      ({ kind, metadata }) => kind === 'Deployment' && !metadata.name.endsWith('control-plane'),
    );
    return deployments.map(({ spec }) => {
      const env = spec.template.spec.containers.flatMap((container) => container.env);
      const own = env.filter(({ name }) => name.startsWith('LLM_'));
      return Object.fromEntries(own.map(({ name, value = '' }) => [name, value]));
    });
  };

  test('is off by default, in the injector and in the guard', async () => {
    expect(await variablesIn()).toEqual([{}, {}]);
    const guard = (await render()).find(
      ({ kind, metadata }) =>
        kind === 'ValidatingAdmissionPolicy' && metadata.name === 'agent-compliance-guard',
    );
    expect(JSON.stringify(guard)).not.toMatch(/secretKeyRef|'(LLM|OPENAI|ANTHROPIC|PLATFORM_LLM)_\w+': /);
    expect(JSON.stringify(guard)).toContain("'HEARTBEAT_SECONDS': ");
  });

  test('passes its settings to the injector and to the canary', async () => {
    const settings = {
      LLM_ANALYSIS_SECRET: 'llm',
      LLM_ANALYSIS_SECRET_KEY: 'api-key',
      LLM_ANALYSIS_PROVIDER: 'anthropic-api',
      LLM_ANALYSIS_MODEL: '',
      LLM_ANALYSIS_BASE_URL: '',
      LLM_ANALYSIS_TIMEOUT_SECONDS: '60',
      LLM_ANALYSIS_TOKENS_PER_DAY: '5000000',
      LLM_ANALYSIS_USD_PER_DAY: '0.5',
      LLM_ANALYSIS_USD_PER_MILLION_INPUT_TOKENS: '5',
      LLM_ANALYSIS_USD_PER_MILLION_OUTPUT_TOKENS: '25',
    };
    const set = ['existingSecret=llm', 'tokensPerDay=5000000', 'usdPerDay=0.5'];
    expect(await variablesIn(...set.map((value) => `llmAnalysis.${value}`))).toEqual([settings, settings]);
  });
});

describe('the collector', () => {
  const guardIn = (objects: ChartObject[]) =>
    JSON.stringify(objects.find(({ metadata }) => metadata.name === 'agent-compliance-guard'));

  test('is absent by default, in the injector and in the guard', async () => {
    const objects = await render();
    expect(JSON.stringify(objects)).not.toMatch(/OTLP_COLLECTOR|OTLP_FORWARD_URL': /);
    expect(guardIn(objects)).toContain("'OTLP_PORT': ");
  });

  test('is passed to the injector, to the canary and, as a pattern, to the guard', async () => {
    const objects = await render('sidecar.otlp.collector=http://collector.observability:4318');
    const variable = '{"name":"SIDECAR_OTLP_COLLECTOR","value":"http://collector.observability:4318"}';
    const parts = objects.filter((object) => JSON.stringify(object).includes(variable));
    expect(parts.map(({ metadata }) => metadata.name)).toEqual([
      'agent-compliance-operator',
      'agent-compliance-webhook',
    ]);
    expect(JSON.parse(`{"text":${JSON.stringify(guardIn(objects))}}`)).toEqual({
      text: expect.stringContaining(
        String.raw`'OTLP_FORWARD_URL': \"^http://collector[.]observability:4318$\"`,
      ),
    });
  });
});

describe('the pods of the control plane', () => {
  const KEY = 'a-key-of-sixteen-characters';
  const rendered = async (...set: string[]) => (await template(...sets(set))).stdout;
  const sourceIn = (text: string) => /platform\.io\/admin-key: "(.*)"/.exec(text)?.[1];

  test.each([
    [[], 'none'],
    [[`adminKey.value=${KEY}`], 'the values of revision 1'],
    [['adminKey.generate=true'], 'Secret agent-compliance-admin, admin-key'],
    [['adminKey.existingSecret=mine', 'adminKey.secretKey=k'], 'Secret mine, k'],
  ])('have the source of the admin key in an annotation with %j', async (set, expected) => {
    expect(sourceIn(await rendered(...set))).toBe(expected);
  });

  test('do not reveal the key', async () => {
    const other = 'b-key-of-sixteen-characters';
    const withKey = await rendered(`adminKey.value=${KEY}`);
    // Except for the Secret itself, another key renders the same manifests.
    expect((await rendered(`adminKey.value=${other}`)).replaceAll(other, KEY)).toBe(withKey);
  });
});
