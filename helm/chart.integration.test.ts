import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { CONTROL_PLANE_FIELDS, readConfig as readControlPlaneConfig } from '../control-plane/config.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { run } from '../e2e/cluster/run.ts';
import { OPERATOR_PERMISSIONS } from '../testing/cluster/operator-permissions.ts';
import { installPermissions } from '../authoring/diagnosis/install-permissions.ts';
import { NO_RESPONSE } from '../core/injection/names.ts';
import { fileVariable, type EnvFields } from '../runtime/env.ts';
import { INJECTION_FIELDS } from '../runtime/injection-config.ts';
import { OPERATOR_FIELDS, readConfig as readOperatorConfig } from '../operator/config.ts';
import { clusterBinary } from '../testing/machine/cluster-binary.ts';
import {
  CHART,
  REGISTRY,
  render,
  REQUIRED,
  template,
  type ChartObject,
} from '../testing/cluster/rendered-chart.ts';
import { readConfig as readWebhookConfig, WEBHOOK_FIELDS } from '../webhook/config.ts';

const ROOT = join(import.meta.dirname, '..');

/** The members that the tests check. */
interface Rendered extends ChartObject {
  spec?: {
    template: { spec: PodSpec };
    matchConditions: unknown;
    matchConstraints: { namespaceSelector: unknown };
    validationActions: string[];
  };
  webhooks?: { matchConditions: unknown; namespaceSelector: unknown; clientConfig: { caBundle?: string } }[];
  rules?: Record<string, string[]>[];
  data?: unknown;
  stringData?: unknown;
}

interface PodSpec {
  containers: Container[];
  hostUsers?: boolean;
  securityContext: { runAsUser: number };
  enableServiceLinks?: boolean;
  volumes?: { name: string; secret?: { secretName: string } }[];
}

interface Container {
  name: string;
  image: string;
  env: { name: string; value?: string; valueFrom?: object }[];
}

const VERSION = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;

type ReadConfig = (env: Record<string, string>) => { ok: boolean };

/** Variables that Node.js and SQLite read. */
const READ_BY_LIBRARIES = ['NODE_OPTIONS', 'SQLITE_TMPDIR'];
/** Stand-ins for entries of Secrets that a process parses. */
const FROM_SECRETS: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgres://user:password@db.example/agents',
};
const ON_POSTGRES = [
  'controlPlane.store.type=postgres',
  'controlPlane.store.postgres.existingSecret=database',
  'controlPlane.store.postgres.caKey=ca.crt',
];
const MIRRORED = [
  'remote.controlPlane.url=https://fleet.example',
  'remote.controlPlane.existingSecret=outside',
];

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const find = (objects: Rendered[], kind: string, name: string): Rendered => {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (!found) throw new Error(`no ${kind} ${name}`);
  return found;
};

const containersOf = (objects: Rendered[]): Container[] =>
  objects
    .filter((object) => object.kind === 'Deployment')
    .flatMap((object) => object.spec?.template.spec.containers ?? []);

test('the chart and the package have the same version', () => {
  const { version, appVersion } = parse(read('helm/agent-compliance/Chart.yaml')) as Record<string, string>;
  expect([version, appVersion]).toEqual([VERSION, VERSION]);
  expect(read('helm/agent-compliance/files/agentobservations.yaml')).toBe(
    read('crds/agentobservations.yaml'),
  );
});

(whyNoControlPlane() ? describe.skip : describe)('the chart', () => {
  test('lints without a warning', () => {
    const output = execFileSync(clusterBinary('helm'), ['lint', '--strict', '--quiet', CHART, ...REQUIRED], {
      encoding: 'utf8',
    });
    expect(output.trim()).toBe('');
  });

  test('renders exactly these objects', async () => {
    const objects = await render<Rendered>();
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).toEqual([
      'ClusterRole agent-compliance-approve',
      'ClusterRole agent-compliance-control-plane',
      'ClusterRole agent-compliance-edit',
      'ClusterRole agent-compliance-operator',
      'ClusterRole agent-compliance-stop',
      'ClusterRole agent-compliance-view',
      'ClusterRole agent-compliance-webhook',
      'ClusterRoleBinding agent-compliance-control-plane',
      'ClusterRoleBinding agent-compliance-operator',
      'ClusterRoleBinding agent-compliance-webhook',
      'ConfigMap agent-compliance-test',
      'CustomResourceDefinition agentobservations.platform.io',
      'CustomResourceDefinition agentpolicies.platform.io',
      'CustomResourceDefinition agentstops.platform.io',
      'Deployment agent-compliance-control-plane',
      'Deployment agent-compliance-operator',
      'Deployment agent-compliance-webhook',
      'Lease platform-operator',
      'MutatingWebhookConfiguration agent-compliance',
      'Namespace platform-canary',
      'Namespace platform-remote',
      'Pod agent-compliance-test',
      'PodDisruptionBudget agent-compliance-operator',
      'PodDisruptionBudget agent-compliance-webhook',
      'Role agent-compliance-canary',
      'Role agent-compliance-control-plane',
      'Role agent-compliance-operator',
      'Role agent-compliance-webhook',
      'RoleBinding agent-compliance-canary',
      'RoleBinding agent-compliance-control-plane',
      'RoleBinding agent-compliance-operator',
      'RoleBinding agent-compliance-test',
      'RoleBinding agent-compliance-webhook',
      'Secret agent-compliance-control-plane-tls',
      'Secret agent-compliance-webhook-tls',
      'Service agent-compliance-control-plane',
      'Service agent-compliance-operator',
      'Service agent-compliance-webhook',
      'ServiceAccount agent-compliance-canary',
      'ServiceAccount agent-compliance-control-plane',
      'ServiceAccount agent-compliance-operator',
      'ServiceAccount agent-compliance-test',
      'ServiceAccount agent-compliance-webhook',
      'ValidatingAdmissionPolicy agent-compliance-annotation-warnings',
      'ValidatingAdmissionPolicy agent-compliance-canary',
      'ValidatingAdmissionPolicy agent-compliance-guard',
      'ValidatingAdmissionPolicy agent-compliance-guard-access',
      'ValidatingAdmissionPolicy agent-compliance-guard-observations',
      'ValidatingAdmissionPolicy agent-compliance-guard-running',
      'ValidatingAdmissionPolicy agent-compliance-guard-tokens',
      'ValidatingAdmissionPolicy agent-compliance-observations',
      'ValidatingAdmissionPolicy agent-compliance-operator-permissions',
      'ValidatingAdmissionPolicy agent-compliance-stops',
      'ValidatingAdmissionPolicy agent-compliance-webhook-permissions',
      'ValidatingAdmissionPolicyBinding agent-compliance-annotation-warnings',
      'ValidatingAdmissionPolicyBinding agent-compliance-canary',
      'ValidatingAdmissionPolicyBinding agent-compliance-guard',
      'ValidatingAdmissionPolicyBinding agent-compliance-guard-access',
      'ValidatingAdmissionPolicyBinding agent-compliance-guard-observations',
      'ValidatingAdmissionPolicyBinding agent-compliance-guard-running',
      'ValidatingAdmissionPolicyBinding agent-compliance-guard-tokens',
      'ValidatingAdmissionPolicyBinding agent-compliance-observations',
      'ValidatingAdmissionPolicyBinding agent-compliance-operator-permissions',
      'ValidatingAdmissionPolicyBinding agent-compliance-stops',
      'ValidatingAdmissionPolicyBinding agent-compliance-webhook-permissions',
      'ValidatingWebhookConfiguration agent-compliance-manifests',
    ]);
    expect(
      objects.filter(({ metadata }) => metadata.labels['app.kubernetes.io/managed-by'] !== 'Helm'),
    ).toEqual([]);
  });

  test('looks up only objects whose permissions are checked before an installation', () => {
    const templates = join(CHART, 'templates');
    const text = readdirSync(templates)
      .map((file) => readFileSync(join(templates, file), 'utf8'))
      .join('');
    const lookups = [...text.matchAll(/lookup "v1" "(\w+)" (\S+) (""|\S+)/g)].map(
      ([, kind = '', namespace, name]) => ({
        verb: name === '""' ? 'list' : 'get',
        group: '',
        resource: `${kind.toLowerCase()}s`,
        ...(namespace === '""' ? {} : { namespace: 'platform-system' }),
      }),
    );
    expect(lookups.length).toBe(text.split('(lookup ').length - 1);
    expect(installPermissions('platform-system')).toEqual(expect.arrayContaining(lookups));
  });

  test('two releases share no name', async () => {
    const names = async (release: string) => {
      const { stdout } = await run([
        ...[clusterBinary('helm'), 'template', release, CHART, '-n', release, '--kube-version', '1.36.0'],
        ...REQUIRED,
        ...[
          '--set',
          'crds.install=false',
          '--set',
          `remote.namespace=${release}-remote,canary.namespace=${release}-canary`,
        ],
      ]);
      return parseAllDocuments(stdout)
        .map((document) => document.toJS() as Rendered | null)
        .flatMap((object) =>
          object ? [`${object.kind} ${object.metadata.namespace ?? ''} ${object.metadata.name}`] : [],
        );
    };
    const [one, two] = [await names('one'), await names('two')];
    expect(one.length).toBe(63);
    expect(one.filter((name) => two.includes(name))).toEqual([]);
  });

  test('every container meets the restricted profile and has probes, requests and limits', async () => {
    for (const object of (await render<Rendered>()).filter(({ kind }) => kind === 'Deployment')) {
      expect(object.spec?.template.spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      // Else a Service named `kubernetes` would replace KUBERNETES_SERVICE_HOST.
      expect(object.spec?.template.spec.enableServiceLinks).toBe(false);
      expect(object.spec?.template.spec.containers).toHaveLength(1);
      expect(object.spec?.template.spec.containers[0]).toMatchObject({
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        startupProbe: { httpGet: { path: '/livez' } },
        livenessProbe: { httpGet: { path: '/livez' }, timeoutSeconds: 5 },
        readinessProbe: { httpGet: { path: '/readyz' } },
        resources: { requests: { cpu: expect.any(String) }, limits: { memory: expect.any(String) } },
      });
    }
  });

  /** The specs of the product's pods, by part. */
  const podSpecs = (objects: Rendered[]): Map<string, PodSpec> =>
    new Map(
      objects
        .filter(({ kind }) => kind === 'Deployment' || kind === 'Pod')
        .map(({ metadata, spec }) => [
          metadata.labels['app.kubernetes.io/component'] ?? '',
          spec?.template?.spec ?? (spec as unknown as PodSpec),
        ]),
    );

  test('each part has a user of its own, which is not the user of the sidecars', async () => {
    const users = new Map(
      [...podSpecs(await render<Rendered>())].map(([part, pod]) => [part, pod.securityContext]),
    );
    const [...parts] = users.keys();
    expect(parts.sort()).toEqual(['control-plane', 'operator', 'test', 'webhook']);
    const ids = [...users.values()].map(({ runAsUser }) => runAsUser);
    expect(new Set([...ids, 65532]).size).toBe(5);
    for (const [, security] of users)
      expect(security).toMatchObject({
        runAsGroup: security.runAsUser,
        fsGroup: security.runAsUser,
      });
    // A user namespace has the IDs up to 65535, and 61184 to 65519 belong to services of systemd.
    expect(ids.filter((id) => id < 65520 || id > 65533)).toEqual([]);
  });

  test.each([
    ['auto', undefined],
    ['true', false],
    ['false', undefined],
  ])('without a cluster, userNamespaces=%s sets hostUsers to %s in every pod', async (value, hostUsers) => {
    const pods = podSpecs(await render<Rendered>(`userNamespaces=${value}`));
    expect([...pods.values()].map((pod) => pod.hostUsers)).toEqual(Array(4).fill(hostUsers));
  });

  test('only the group of a part can read the files of its Secrets', async () => {
    const pods = podSpecs(await render<Rendered>(...ON_POSTGRES, ...MIRRORED));
    const secrets = ['operator', 'control-plane'].flatMap((part) =>
      (pods.get(part)?.volumes ?? []).flatMap(({ secret }) => (secret ? [secret] : [])),
    );
    expect(secrets.map(({ secretName }) => secretName)).toEqual([
      'agent-compliance-control-plane-tls',
      'outside',
      'agent-compliance-control-plane-tls',
      'agent-compliance-admin',
      'database',
    ]);
    for (const secret of secrets) expect(secret).toMatchObject({ defaultMode: 0o440 });
  });

  test.each<[part: string, EnvFields, ReadConfig, set: string[]]>([
    ['operator', OPERATOR_FIELDS, readOperatorConfig, []],
    ['operator', OPERATOR_FIELDS, readOperatorConfig, MIRRORED],
    ['webhook', WEBHOOK_FIELDS, readWebhookConfig, []],
    ['control-plane', CONTROL_PLANE_FIELDS, readControlPlaneConfig, []],
    ['control-plane', CONTROL_PLANE_FIELDS, readControlPlaneConfig, ['controlPlane.store.type=sqlite']],
    ['control-plane', CONTROL_PLANE_FIELDS, readControlPlaneConfig, ON_POSTGRES],
  ])(
    'the process %s reads and accepts all variables of its environment (%#)',
    async (part, fields, readConfig, set) => {
      const { env } = containersOf(await render<Rendered>(...set)).find(({ name }) => name === part)!;
      const secrets = Object.keys(fields).filter((name) => fields[name]?.secret);
      const files = new Map(secrets.map((name) => [fileVariable(name), name]));
      const known = [...Object.keys(fields), ...files.keys(), ...READ_BY_LIBRARIES];
      expect(env.map(({ name }) => name).filter((name) => !known.includes(name))).toEqual([]);
      // No key is in an environment.
      expect(env.map(({ name }) => name).filter((name) => secrets.includes(name))).toEqual([]);
      expect(env.filter(({ valueFrom }) => valueFrom && !('fieldRef' in valueFrom))).toEqual([]);
      const given = env.map(({ name, value }): [string, string] => {
        const secret = files.get(name);
        if (secret !== undefined) return [secret, FROM_SECRETS[secret] ?? 'from-a-file-of-a-secret'];
        return [name, value ?? (name === 'POD_IP' ? '10.0.0.2' : 'from-a-field')];
      });
      expect(
        readConfig({
          ...Object.fromEntries(given),
          KUBERNETES_SERVICE_HOST: '10.0.0.1',
        }),
      ).toMatchObject({ ok: true });
    },
  );

  test.each([
    [
      [],
      `${REGISTRY}/agent-compliance/webhook:${VERSION}`,
      `${REGISTRY}/agent-compliance/sidecar:${VERSION}`,
    ],
    [
      ['image.registry=r.example/x/'],
      `r.example/x/agent-compliance/webhook:${VERSION}`,
      `r.example/x/agent-compliance/sidecar:${VERSION}`,
    ],
    [
      ['webhook.image.tag=dev', 'sidecar.image.tag=dev'],
      `${REGISTRY}/agent-compliance/webhook:dev`,
      `${REGISTRY}/agent-compliance/sidecar:dev`,
    ],
    [
      [
        `webhook.image.digest=sha256:${'a'.repeat(64)}`,
        'webhook.image.tag=dev',
        'sidecar.image.repository=s',
      ],
      `${REGISTRY}/agent-compliance/webhook@sha256:${'a'.repeat(64)}`,
      `${REGISTRY}/s:${VERSION}`,
    ],
  ])('images with %j are %s and %s', async (set, image, sidecar) => {
    const webhook = containersOf(await render<Rendered>(...set)).find(({ name }) => name === 'webhook');
    expect(webhook?.image).toBe(image);
    expect(webhook?.env.find(({ name }) => name === 'SIDECAR_IMAGE')?.value).toBe(sidecar);
  });

  test('no match condition uses namespaceObject, which is null there', async () => {
    const objects = await render<Rendered>();
    const webhook = find(objects, 'MutatingWebhookConfiguration', 'agent-compliance').webhooks?.[0];
    const policy = find(objects, 'ValidatingAdmissionPolicy', 'agent-compliance-guard').spec;
    expect(JSON.stringify([webhook?.matchConditions, policy?.matchConditions])).not.toContain(
      'namespaceObject',
    );
    expect(webhook).toMatchObject({
      failurePolicy: 'Ignore',
      reinvocationPolicy: 'IfNeeded',
      timeoutSeconds: 5,
      sideEffects: 'None',
      clientConfig: {
        service: { path: '/mutate/pod', name: 'agent-compliance-webhook', namespace: 'platform-system' },
      },
    });
    expect(webhook?.clientConfig.caBundle).toBeUndefined();
  });

  test('no policy uses a CEL function that the oldest supported Kubernetes does not have', async () => {
    const policies = (await render()).filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
    expect(policies.length).toBeGreaterThan(0);
    // The lists of cel-go; Kubernetes has them since 1.34.
    expect(JSON.stringify(policies)).not.toMatch(
      /[.](distinct|first|flatten|last|reverse|slice|sort|sortBy)[(]/,
    );
  });

  test('excludes namespaces from the webhook, the guard and the warnings', async () => {
    const objects = await render<Rendered>('webhook.excludedNamespaces={legacy}');
    const webhook = find(objects, 'MutatingWebhookConfiguration', 'agent-compliance');
    const guard = find(objects, 'ValidatingAdmissionPolicy', 'agent-compliance-guard');
    const selector = {
      matchExpressions: [
        {
          key: 'kubernetes.io/metadata.name',
          operator: 'NotIn',
          values: ['kube-system', 'platform-system', 'legacy'],
        },
      ],
    };
    expect(webhook.webhooks?.[0]?.namespaceSelector).toEqual(selector);
    expect(guard.spec?.matchConstraints.namespaceSelector).toEqual(selector);
    const warnings = find(objects, 'ValidatingAdmissionPolicy', 'agent-compliance-annotation-warnings');
    expect(warnings.spec?.matchConstraints.namespaceSelector).toEqual(selector);
  });

  test('the policy for warnings never rejects, whatever guard.action is, and can be turned off', async () => {
    const of = async (...set: string[]) =>
      (await render<Rendered>(...set)).filter(({ metadata }) =>
        metadata.name.endsWith('-annotation-warnings'),
      );
    for (const action of ['deny', 'warn', 'off']) {
      const [policy, binding] = await of(`guard.action=${action}`);
      expect(policy?.spec).toMatchObject({ failurePolicy: 'Ignore' });
      expect(binding?.spec).toMatchObject({ validationActions: ['Warn'] });
    }
    expect(await of('webhook.annotationWarnings=false')).toEqual([]);
  });

  test.each([
    ['deny', [['Deny']]],
    ['warn', [['Warn', 'Audit']]],
    ['off', []],
  ])('guard.action=%s', async (action, actions) => {
    const bindings = (await render<Rendered>(`guard.action=${action}`)).filter(
      ({ kind, metadata }) =>
        kind === 'ValidatingAdmissionPolicyBinding' && metadata.name === 'agent-compliance-guard',
    );
    expect(bindings.map((binding) => binding.spec?.validationActions)).toEqual(actions);
  });

  test.each<[string[], [secret: string, key: string, optional: boolean], string[]]>([
    [[], ['agent-compliance-admin', 'admin-key', true], []],
    [
      ['adminKey.value=a-key-of-sixteen-characters'],
      ['agent-compliance-admin', 'admin-key', true],
      ['agent-compliance-admin'],
    ],
    [['adminKey.existingSecret=mine', 'adminKey.secretKey=k'], ['mine', 'k', false], []],
    [['adminKey.generate=true'], ['agent-compliance-admin', 'admin-key', false], ['agent-compliance-admin']],
  ])('the admin key with %j comes from %j', async (set, [secretName, key, optional], secrets) => {
    const objects = await render<Rendered>(...set);
    const env = containersOf(objects).find(({ name }) => name === 'control-plane')?.env;
    expect(env?.find(({ name }) => name === 'PLATFORM_ADMIN_KEY_FILE')?.value).toBe(
      '/var/run/secrets/admin/key',
    );
    expect(podSpecs(objects).get('control-plane')?.volumes).toContainEqual({
      name: 'admin',
      secret: {
        secretName,
        optional,
        defaultMode: 0o440,
        items: [{ key, path: 'key' }],
      },
    });
    const created = objects.filter(
      ({ kind, metadata }) => kind === 'Secret' && !metadata.name.endsWith('-tls'),
    );
    expect(created.map(({ metadata }) => metadata.name)).toEqual(secrets);
  });

  const OIDC = ['issuer=https://login.example', 'clientId=c', 'publicUrl=https://agents.example'].map(
    (value) => `controlPlane.oidc.${value}`,
  );
  const KEY = 'adminKey.existingSecret=mine';
  const SECRET = 'controlPlane.oidc.existingSecret=login';
  const fromFile = (name: string, folder: string) => ({ name, value: `/var/run/secrets/${folder}` });
  interface Mounted {
    name: string;
    secret?: { items: { key: string; path: string }[] };
  }
  test.each<[string, string[], { name: string; value?: string }[], Record<string, object>]>([
    ['is off by default', [], [], {}],
    [
      'of a public client needs no Secret',
      [KEY, ...OIDC],
      [
        { name: 'OIDC_ISSUER', value: 'https://login.example' },
        { name: 'OIDC_CLIENT_ID', value: 'c' },
        { name: 'OIDC_AUDIENCES', value: '' },
        { name: 'OIDC_SCOPES', value: 'openid profile groups' },
        { name: 'OIDC_USERNAME_CLAIM', value: 'sub' },
        { name: 'OIDC_GROUPS_CLAIM', value: 'groups' },
        { name: 'OIDC_PREFIX', value: 'oidc:' },
        { name: 'OIDC_GROUPS_KEEP', value: '' },
        { name: 'PUBLIC_URL', value: 'https://agents.example' },
        { name: 'SESSION_HOURS', value: '1' },
      ],
      {},
    ],
    [
      'reads its secrets from files',
      [...OIDC, SECRET, ...['sessionSecretKey=s', 'caKey=ca'].map((each) => `controlPlane.oidc.${each}`)],
      [
        fromFile('NODE_EXTRA_CA_CERTS', 'oidc/ca.crt'),
        fromFile('OIDC_CLIENT_SECRET_FILE', 'oidc/client-secret'),
        fromFile('SESSION_SECRET_FILE', 'oidc/session-secret'),
      ],
      { oidc: { 'ca.crt': 'ca', 'client-secret': 'client-secret', 'session-secret': 's' } },
    ],
    [
      'and a read key',
      ['controlPlane.readKey.existingSecret=read', 'controlPlane.proofs.approverMustNotBeAuthor=true'],
      [
        fromFile('PLATFORM_READ_KEY_FILE', 'read-key/key'),
        { name: 'PROOF_APPROVER_NOT_AUTHOR', value: 'true' },
      ],
      { 'read-key': { key: 'read-key' } },
    ],
  ])('the sign-on %s', async (_what, set, expected, files) => {
    const objects = await render<Rendered>(...set);
    const container = containersOf(objects).find(({ name }) => name === 'control-plane');
    const own = container?.env.filter(({ name }) =>
      /^(OIDC|SESSION|PUBLIC|PLATFORM_READ|PROOF|NODE_EX)/.test(name),
    );
    // The second row has every variable without a file.
    const shown = files['oidc'] === undefined ? own : own?.filter(({ value }) => value?.startsWith('/var'));
    expect(shown).toEqual(expected);
    const volumes = podSpecs(objects).get('control-plane')?.volumes as unknown as Mounted[];
    const items = volumes
      .filter(({ name }) => ['oidc', 'read-key'].includes(name))
      .map(({ name, secret }) => [
        name,
        Object.fromEntries(secret?.items.map(({ key, path }) => [path, key]) ?? []),
      ]);
    expect(Object.fromEntries(items)).toEqual(files);
  });

  test('the control plane may connect to the identity provider', async () => {
    const egressOf = async (...set: string[]) => {
      const objects = await render<Rendered>('networkPolicy.enabled=true', ...set);
      const { spec } = find(objects, 'NetworkPolicy', 'agent-compliance-control-plane') as unknown as {
        spec: { egress: object[] };
      };
      return spec.egress.slice(2);
    };
    const peer = 'networkPolicy.identityProvider.to[0].ipBlock.cidr=192.0.2.11/32';
    expect(await egressOf()).toEqual([]);
    expect(await egressOf(KEY, ...OIDC)).toEqual([{ ports: [{ port: 443, protocol: 'TCP' }] }]);
    expect(await egressOf(KEY, ...OIDC, peer, 'networkPolicy.identityProvider.ports={5556}')).toEqual([
      { ports: [{ port: 5556, protocol: 'TCP' }], to: [{ ipBlock: { cidr: '192.0.2.11/32' } }] },
    ]);
  });

  test.each([
    ['stop', 'agentstops', ['get', 'list', 'watch', 'create', 'delete'], 'true'],
    ['approve', 'agentobservations/proofs', ['create', 'delete'], undefined],
  ])('the role for persons who %s agents', async (name, resource, verbs, isAggregated) => {
    const roleOf = async (...set: string[]) =>
      find(await render<Rendered>(...set), 'ClusterRole', `agent-compliance-${name}`);
    const role = await roleOf();
    expect(role.rules).toEqual([{ apiGroups: ['platform.io'], resources: [resource], verbs }]);
    const label = 'rbac.authorization.k8s.io/aggregate-to-admin';
    expect(role.metadata.labels[label]).toBe(isAggregated);
    expect((await roleOf('rbac.aggregate=false')).metadata.labels[label]).toBeUndefined();
  });

  test('the TLS Secrets and the Lease are empty, so that an upgrade keeps their content', async () => {
    const objects = await render<Rendered>();
    const filled = objects.filter(
      (object) =>
        (object.kind === 'Secret' && (object.data ?? object.stringData) !== undefined) ||
        (object.kind === 'Lease' && object.spec !== undefined),
    );
    expect(filled).toEqual([]);
  });

  test.each<[string[], (string | undefined)[]]>([
    [[], ['keep', 'keep', 'keep']],
    [['crds.keep=false'], [undefined, undefined, undefined]],
    [['crds.install=false'], []],
  ])('the CRDs with %j', async (set, policies) => {
    const crds = (await render<Rendered>(...set)).filter(({ kind }) => kind === 'CustomResourceDefinition');
    expect(crds.map(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'])).toEqual(policies);
  });

  test('the check of written manifests can be switched off', async () => {
    const [on, off] = [await render<Rendered>(), await render<Rendered>('organisation.enabled=false')];
    const partsOf = (objects: Rendered[]) => ({
      configurations: objects.filter(({ kind }) => kind === 'ValidatingWebhookConfiguration').length,
      variable: containersOf(objects)
        .find(({ name }) => name === 'webhook')
        ?.env?.find(({ name }) => name === 'MANIFEST_CONFIGURATION')?.value,
      resources: find(objects, 'ClusterRole', 'agent-compliance-webhook').rules?.flatMap(
        ({ resources }) => resources,
      ),
    });
    const always = ['mutatingwebhookconfigurations', 'validatingadmissionpolicies'];
    const [mutating, policies] = always;
    expect(partsOf(on)).toEqual({
      ...{ configurations: 1, variable: 'agent-compliance-manifests' },
      resources: [mutating, 'validatingwebhookconfigurations', 'agentpolicies', 'namespaces', policies],
    });
    expect(partsOf(off)).toEqual({ configurations: 0, variable: undefined, resources: always });
  });

  test("the operator has exactly the permissions that the operator's tests use", async () => {
    const { cluster, reports, retry, canary, namespace } = OPERATOR_PERMISSIONS;
    const whole = await render<Rendered>();
    const rulesOf = (objects: Rendered[], kind: string) =>
      find(objects, kind, 'agent-compliance-operator').rules;
    expect(rulesOf(whole, 'ClusterRole')).toEqual([...cluster, ...retry, ...canary.cluster]);
    expect(rulesOf(whole, 'Role')).toEqual([...namespace, ...canary.namespace]);
    expect(find(whole, 'Role', 'agent-compliance-canary')).toMatchObject({
      metadata: { namespace: 'platform-canary' },
      rules: canary.account,
    });
    const bare = await render<Rendered>('operator.wakeControllers=false', 'canary.enabled=false');
    expect(rulesOf(bare, 'ClusterRole')).toEqual([...cluster]);
    const reporting = await render<Rendered>('operator.openReports=true');
    const every = [...cluster, ...reports, ...retry, ...canary.cluster];
    expect(rulesOf(reporting, 'ClusterRole')).toEqual(every);
    expect(rulesOf(bare, 'Role')).toEqual(namespace);
    expect(bare.filter(({ metadata }) => metadata.name.endsWith('-canary'))).toEqual([]);
    const env = containersOf(bare).find(({ name }) => name === 'operator')?.env;
    expect(env?.find(({ name }) => name === 'CANARY_NAMESPACE')).toBeUndefined();
    const policyOf = (objects: Rendered[]) =>
      ['operator', 'webhook'].map(
        (part) =>
          containersOf(objects)
            .find(({ name }) => name === part)
            ?.env?.find(({ name }) => name === 'CANARY_POLICY')?.value,
      );
    // The operator writes the condition, and the webhook waits for it.
    expect(policyOf(whole)).toEqual(['agent-compliance-canary', 'agent-compliance-canary']);
    expect(policyOf(bare)).toEqual([undefined, undefined]);
  });

  test.each(['true', 'false'])(
    'operator and webhook have the same injection settings, canary %s',
    async (canary) => {
      const objects = await render<Rendered>(
        `canary.enabled=${canary}`,
        'policy.engine=opa',
        'policy.opa.image=opa:1',
        'sidecar.logLevel=debug',
        'llmAnalysis.existingSecret=llm',
        'sidecar.otlp.collector=http://collector:4318',
      );
      const [operator, webhook] = ['operator', 'webhook'].map(
        (part) => containersOf(objects).find(({ name }) => name === part)?.env ?? [],
      );
      const injected = Object.keys(INJECTION_FIELDS);
      const of = (env: Container['env'] = []) => env.filter(({ name }) => injected.includes(name));
      expect(of(operator)).toEqual(of(webhook));
      expect(
        of(operator)
          .map(({ name }) => name)
          .sort(),
      ).toEqual(injected.sort());
    },
  );

  test('operator and webhook exclude the same namespaces', async () => {
    const objects = await render<Rendered>('webhook.excludedNamespaces={a,b}');
    const env = containersOf(objects).find(({ name }) => name === 'operator')?.env;
    const excluded = env?.find(({ name }) => name === 'EXCLUDED_NAMESPACES')?.value;
    const { webhooks } = find(objects, 'MutatingWebhookConfiguration', 'agent-compliance') as unknown as {
      webhooks: { namespaceSelector: { matchExpressions: { values: string[] }[] } }[];
    };
    expect(excluded?.split(',')).toEqual(webhooks[0]?.namespaceSelector.matchExpressions[0]?.values);
    expect(excluded).toBe('kube-system,platform-system,a,b');
  });

  test('the guard reports an unavailable injector with the text that the operator matches', () => {
    expect(read('helm/agent-compliance/templates/guard.yaml')).toContain(NO_RESPONSE);
  });

  test('roles use no wildcards, and name each Secret', async () => {
    const roles = (await render<Rendered>()).filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole');
    for (const { metadata, rules } of roles as (Rendered & { rules: Record<string, string[]>[] })[]) {
      expect([metadata.name, JSON.stringify(rules)]).not.toEqual([
        metadata.name,
        expect.stringContaining('"*"'),
      ]);
      const onSecrets = rules.filter((rule) => rule['resources']?.includes('secrets'));
      expect(onSecrets.filter((rule) => (rule['resourceNames'] ?? []).length === 0)).toEqual([]);
    }
  });

  test('rejects an older cluster', async () => {
    const { stderr } = await template('--kube-version', '1.32.0');
    expect(stderr).toContain('chart requires kubeVersion: >=1.33.0-0');
  });
});
