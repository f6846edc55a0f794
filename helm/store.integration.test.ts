// The objects of the control plane with each of its three stores.
import { describe, expect, test } from '@jest/globals';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { render, type ChartObject } from '../testing/cluster/rendered-chart.ts';

interface Rendered extends ChartObject {
  spec: {
    replicas?: number;
    strategy?: unknown;
    egress?: { ports: { port: number; protocol: string }[]; to?: object[] }[];
    template: {
      spec: {
        securityContext: Record<string, unknown>;
        containers: {
          env: { name: string; value?: string; valueFrom?: object }[];
          volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
        }[];
        volumes: { name: string }[];
      };
    };
  };
}

const NAME = 'agent-compliance-control-plane';
const ROLLING = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
const SQLITE = ['controlPlane.store.type=sqlite'];
const POSTGRES = ['controlPlane.store.type=postgres', 'controlPlane.store.postgres.existingSecret=database'];

/** The parts of the Deployment and of the other objects that depend on the store. */
async function storeOf(...set: string[]) {
  const objects = await render<Rendered>(...set);
  const deployment = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === NAME);
  const { replicas, strategy, template } = deployment!.spec;
  const [container] = template.spec.containers;
  const variables = container!.env.filter(({ name }) =>
    /^(STORE|DATA_DIR|SQLITE_|DATABASE_|KEEP_|AUDIT_|REMOVE_)/.test(name),
  );
  return {
    replicas,
    strategy,
    env: Object.fromEntries(variables.map(({ name, value, valueFrom }) => [name, value ?? valueFrom])),
    mounts: container!.volumeMounts.filter(({ name }) => !['tls', 'admin'].includes(name)),
    volumes: template.spec.volumes.filter(({ name }) => !['tls', 'admin'].includes(name)),
    claims: objects.filter(({ kind }) => kind === 'PersistentVolumeClaim'),
    budgets: objects.filter(({ kind, metadata }) => kind === 'PodDisruptionBudget' && metadata.name === NAME),
    security: template.spec.securityContext,
  };
}

const RETENTION = {
  KEEP_HEARTBEATS: '100',
  KEEP_HOURLY_DAYS: '30',
  KEEP_DAILY_DAYS: '400',
  AUDIT_RETENTION_DAYS: '200',
  REMOVE_AFTER_DAYS: '30',
};

(whyNoControlPlane() ? describe.skip : describe)('the store', () => {
  test('kubernetes is the default and needs neither a volume nor a Secret', async () => {
    expect(await storeOf()).toMatchObject({
      ...{ replicas: 1, strategy: ROLLING, env: { STORE: 'kubernetes' } },
      ...{ mounts: [], volumes: [], claims: [], budgets: [] },
    });
    expect(Object.keys((await storeOf()).env)).toEqual(['STORE']);
  });

  test('sqlite has a claim that is kept, and stops the old pod before it starts a new pod', async () => {
    const store = await storeOf(...SQLITE);
    expect(store).toMatchObject({
      ...{ replicas: 1, strategy: { type: 'Recreate' }, budgets: [] },
      mounts: [{ name: 'data', mountPath: '/data' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: `${NAME}-data` } }],
    });
    expect(store.env).toEqual({ STORE: 'sqlite', DATA_DIR: '/data', SQLITE_TMPDIR: '/data', ...RETENTION });
    // The kubelet makes the volume writable for this group.
    expect(store.security).toMatchObject({ runAsNonRoot: true, runAsUser: 65523, fsGroup: 65523 });
    expect(store.claims).toEqual([
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: {
          name: `${NAME}-data`,
          namespace: 'platform-system',
          labels: expect.objectContaining({ 'app.kubernetes.io/component': 'control-plane' }),
          annotations: { 'helm.sh/resource-policy': 'keep' },
        },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '8Gi' } } },
      },
    ]);
  });

  test('sqlite uses the configured class, size and access mode', async () => {
    const { claims } = await storeOf(
      ...SQLITE,
      'controlPlane.store.sqlite.size=64Mi',
      'controlPlane.store.sqlite.storageClass=fast',
      'controlPlane.store.sqlite.accessMode=ReadWriteOncePod',
    );
    expect(claims.map(({ spec }) => spec)).toEqual([
      {
        accessModes: ['ReadWriteOncePod'],
        storageClassName: 'fast',
        resources: { requests: { storage: '64Mi' } },
      },
    ]);
  });

  test('sqlite uses an existing claim instead of its own', async () => {
    expect(await storeOf(...SQLITE, 'controlPlane.store.sqlite.existingClaim=mine')).toMatchObject({
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'mine' } }],
      claims: [],
    });
  });

  test('postgres reads the URL from a file that only its group can read', async () => {
    const store = await storeOf(...POSTGRES);
    const items = [{ key: 'url', path: 'url' }];
    expect(store).toMatchObject({ strategy: ROLLING, claims: [] });
    expect(store.mounts).toEqual([
      {
        name: 'database',
        mountPath: '/var/run/secrets/database',
        readOnly: true,
      },
    ]);
    expect(store.volumes).toEqual([
      {
        name: 'database',
        secret: { secretName: 'database', defaultMode: 0o440, items },
      },
    ]);
    expect(store.env).toEqual({
      STORE: 'postgres',
      DATABASE_URL_FILE: '/var/run/secrets/database/url',
      DATABASE_POOL: '10',
      ...RETENTION,
    });
  });

  test('postgres mounts only the URL and the CA certificates of the Secret', async () => {
    const store = await storeOf(
      ...POSTGRES,
      'controlPlane.store.postgres.urlKey=connection',
      'controlPlane.store.postgres.caKey=ca.pem',
      'controlPlane.store.postgres.pool=50',
    );
    expect(store).toMatchObject({
      env: {
        DATABASE_URL_FILE: '/var/run/secrets/database/url',
        DATABASE_CA_FILE: '/var/run/secrets/database/ca.crt',
        DATABASE_POOL: '50',
      },
      mounts: [{ name: 'database', mountPath: '/var/run/secrets/database', readOnly: true }],
      volumes: [
        {
          name: 'database',
          secret: {
            secretName: 'database',
            items: [
              { key: 'connection', path: 'url' },
              { key: 'ca.pem', path: 'ca.crt' },
            ],
          },
        },
      ],
    });
  });

  test('postgres has several replicas and a disruption budget', async () => {
    expect(await storeOf(...POSTGRES, 'controlPlane.replicas=3')).toMatchObject({
      ...{ replicas: 3, strategy: ROLLING },
      budgets: [{ spec: { maxUnavailable: 1 } }],
    });
  });

  test.each([[SQLITE], [POSTGRES]])('with %j passes on the retention', async (set) => {
    const { env } = await storeOf(
      ...set,
      ...['keepHeartbeats=1000', 'keepHourlyDays=400', 'keepDailyDays=3660'].map(
        (value) => `controlPlane.store.${value}`,
      ),
      ...['auditRetentionDays=3650', 'removeAfterDays=0'].map((value) => `controlPlane.store.${value}`),
    );
    expect(env).toMatchObject({
      ...{ KEEP_HEARTBEATS: '1000', KEEP_HOURLY_DAYS: '400' },
      ...{ KEEP_DAILY_DAYS: '3660', AUDIT_RETENTION_DAYS: '3650', REMOVE_AFTER_DAYS: '0' },
    });
  });

  test('has the same roles with each type', async () => {
    const roles = async (...set: string[]) =>
      (await render(...set)).filter(({ kind }) => /^(Cluster)?Role(Binding)?$/.test(kind));
    const usual = await roles();
    expect(await roles(...SQLITE)).toEqual(usual);
    expect(await roles(...POSTGRES)).toEqual(usual);
  });
});

(whyNoControlPlane() ? describe.skip : describe)('the NetworkPolicy of the control plane', () => {
  const egressOf = async (...set: string[]) => {
    const objects = await render<Rendered>('networkPolicy.enabled=true', ...set);
    const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
    const open = policies.filter(({ spec }) =>
      spec.egress?.some(({ ports }) => ports.some(({ port }) => port === 5432)),
    );
    const own = policies.find(({ metadata }) => metadata.name === NAME);
    return { open: open.map(({ metadata }) => metadata.name), egress: own?.spec.egress?.slice(2) };
  };

  test.each([[[]], [SQLITE]])('with %j allows no database', async (set) => {
    expect(await egressOf(...set)).toEqual({ open: [], egress: [] });
  });

  test('with postgres allows only the control plane to connect to port 5432, at any address', async () => {
    expect(await egressOf(...POSTGRES)).toEqual({
      open: [NAME],
      egress: [{ ports: [{ port: 5432, protocol: 'TCP' }] }],
    });
  });

  test('with postgres allows the configured server and ports', async () => {
    const { egress } = await egressOf(
      ...POSTGRES,
      'networkPolicy.database.to[0].ipBlock.cidr=192.0.2.10/32',
      'networkPolicy.database.ports={5433,6432}',
    );
    expect(egress).toEqual([
      {
        ports: [
          { port: 5433, protocol: 'TCP' },
          { port: 6432, protocol: 'TCP' },
        ],
        to: [{ ipBlock: { cidr: '192.0.2.10/32' } }],
      },
    ]);
  });
});
