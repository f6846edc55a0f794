// Tests the cluster functions that the other suites need. Every run checks at its end that a local cluster leaves nothing behind
// (share-cluster.ts). In `make soak` this file also checks it for a second, concurrent cluster.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IN_SOAK } from '../testing/time/real-time.ts';
import { startCluster, startOwnCluster, type Cluster } from './cluster/cluster.ts';
import { processesWith } from './cluster/processes.ts';

jest.setTimeout(300_000);

let cluster: Cluster;
const scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-cluster-test-'));
const namespace = 'cluster-test';

/** Runs kubectl and returns its output; throws its error message. */
async function kubectl(args: string[], input = ''): Promise<string> {
  const { stdout, stderr, code } = await cluster.exec(['kubectl', '-n', namespace, ...args], { input });
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** A server in the image of a part; the response contains the requested path. */
const SERVER = `require('node:http').createServer((q, r) => r.end('served ' + q.url)).listen(8080)`;

const manifests = () => [
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', labels: { app: 'web' } },
    spec: {
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      initContainers: [
        {
          name: 'opa',
          image: cluster.imageRef('opa'),
          imagePullPolicy: 'IfNotPresent',
          restartPolicy: 'Always',
          args: ['run', '--server', '--addr=0.0.0.0:8181'],
          startupProbe: { httpGet: { path: '/health', port: 8181 }, periodSeconds: 1, failureThreshold: 60 },
          resources: { limits: { memory: '256Mi' } },
        },
      ],
      containers: [
        {
          name: 'web',
          image: cluster.imageRef('sidecar'),
          imagePullPolicy: 'IfNotPresent',
          args: ['-e', SERVER],
          ports: [{ name: 'http', containerPort: 8080 }],
          readinessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 1 },
          securityContext: {
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 'http' }] },
  },
];

beforeAll(async () => {
  cluster = await startCluster();
  await kubectl(['create', 'namespace', namespace]);
});

afterAll(async () => {
  await kubectl(['delete', 'namespace', namespace, '--wait=false']).catch(() => undefined);
  await cluster.close();
  rmSync(scratch, { recursive: true, force: true });
});

describe('the cluster', () => {
  test('runs a pod as non-root with a native sidecar', async () => {
    await kubectl(
      ['apply', '-f', '-'],
      manifests()
        .map((each) => JSON.stringify(each))
        .join('\n---\n'),
    );
    await kubectl(['wait', '--for=condition=Ready', 'pod/web', '--timeout=240s']);
    const statuses = await kubectl([
      'get',
      'pod',
      'web',
      '-o=jsonpath={.status.initContainerStatuses[0].ready} {.status.containerStatuses[0].ready}',
    ]);
    expect(statuses).toBe('true true');
    expect(
      await kubectl(['exec', 'web', '-c', 'web', '--', '/nodejs/bin/node', '-p', 'process.getuid()']),
    ).toBe('65532\n');
  });

  test('serves a Service by its DNS name', async () => {
    const url = `http://web.${namespace}.svc.cluster.local/by-name`;
    // A Service may refuse connections in its first seconds.
    const script = `(async () => {
      for (let left = 400; ; left -= 1) {
        const answer = await fetch('${url}').then((r) => r.text(), (e) => e);
        if (typeof answer === 'string' || left === 0) { console.log(String(answer)); return; }
        await new Promise((r) => setTimeout(r, 250));
      }
    })()`;
    expect(await kubectl(['exec', 'web', '-c', 'web', '--', '/nodejs/bin/node', '-e', script])).toBe(
      'served /by-name\n',
    );
  });

  test('forwards a Service to the test', async () => {
    const forward = await cluster.forward({ namespace, name: 'web', port: 80 });
    try {
      const response = await fetch(`${forward.url}/forwarded`);
      expect([response.status, await response.text()]).toEqual([200, 'served /forwarded']);
    } finally {
      await forward.close();
    }
  });

  test('installs and uninstalls a chart with helm', async () => {
    const chart = join(scratch, 'chart');
    mkdirSync(join(chart, 'templates'), { recursive: true });
    writeFileSync(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: probe\nversion: 0.1.0\n');
    writeFileSync(
      join(chart, 'templates/map.yaml'),
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}"}\ndata: {value: "{{ .Values.value }}"}\n',
    );
    const helm = (...args: string[]) => cluster.exec(['helm', '-n', namespace, ...args]);
    const installed = await helm('install', 'probe', chart, '--set', 'value=from-helm', '--wait');
    expect(installed).toMatchObject({ code: 0 });
    expect(await kubectl(['get', 'configmap', 'probe', '-o=jsonpath={.data.value}'])).toBe('from-helm');
    expect(await helm('uninstall', 'probe', '--wait')).toMatchObject({ code: 0 });
    expect(await kubectl(['get', 'configmap', 'probe', '--ignore-not-found'])).toBe('');
  });

  test('returns the output and exit code of a failing command, and kills a hanging command', async () => {
    const failing = await cluster.exec(['sh', '-c', 'cat; echo broken >&2; exit 7'], { input: 'given' });
    expect(failing).toEqual({ stdout: 'given', stderr: 'broken\n', code: 7 });
    const hanging = await cluster.exec(['sleep', '3600.25'], { timeoutMs: 300 });
    expect(hanging).toEqual({ stdout: '', stderr: '\nkilled after 300 ms', code: null });
    expect(processesWith('3600.25')).toEqual([]);
  });
});

// In `make test` one cluster runs at a time.
if (IN_SOAK && (process.env['E2E_KUBECONFIG'] ?? '') === '')
  test('a second cluster runs concurrently and leaves nothing behind', async () => {
    const { cluster: second } = await startOwnCluster(process.env);
    const uidOf = (each: Cluster) =>
      each.exec(['kubectl', 'get', 'namespace', 'kube-system', '-o=jsonpath={.metadata.uid}']);
    const [one, two] = await Promise.all([uidOf(cluster), uidOf(second)]);
    expect([one.code, two.code]).toEqual([0, 0]);
    expect(one.stdout).not.toBe(two.stdout);
    // Throws if something is left behind.
    await second.close();
  });
