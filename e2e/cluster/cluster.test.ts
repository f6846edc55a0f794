// What every other suite takes for granted of the cluster it is given, and that an own one leaves nothing behind.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startCluster, type Cluster } from './cluster.ts';
import { processesWith } from './processes.ts';

jest.setTimeout(300_000);

let cluster: Cluster;
const scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-cluster-test-'));
const namespace = 'cluster-test';

/** Runs kubectl and returns what it printed; throws what it complained about. */
async function kubectl(args: string[], input = ''): Promise<string> {
  const { stdout, stderr, code } = await cluster.exec(['kubectl', '-n', namespace, ...args], { input });
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** A server in the image of a part; its answer names the path that was asked for. */
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
  test('runs a pod as non-root with a native sidecar beside it', async () => {
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

  test('answers at a Service by its DNS name', async () => {
    const url = `http://web.${namespace}.svc.cluster.local/by-name`;
    // The first seconds of a Service may refuse; from then on it answers.
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

  test('is reached from a test through a forwarded Service', async () => {
    const forward = await cluster.forward({ namespace, name: 'web', port: 80 });
    try {
      const response = await fetch(`${forward.url}/forwarded`);
      expect([response.status, await response.text()]).toEqual([200, 'served /forwarded']);
    } finally {
      await forward.close();
    }
  });

  test('takes a chart from helm and gives it back', async () => {
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

  test('hands back the output and the exit code of a failing command, and kills one that hangs', async () => {
    const failing = await cluster.exec(['sh', '-c', 'cat; echo broken >&2; exit 7'], { input: 'given' });
    expect(failing).toEqual({ stdout: 'given', stderr: 'broken\n', code: 7 });
    const hanging = await cluster.exec(['sleep', '3600.25'], { timeoutMs: 300 });
    expect(hanging).toEqual({ stdout: '', stderr: '\nkilled after 300 ms', code: null });
    expect(processesWith('3600.25')).toEqual([]);
  });
});

const ownCluster = (process.env['E2E_KUBECONFIG'] ?? '') === '' ? describe : describe.skip;
ownCluster('a second cluster of our own', () => {
  test('runs beside the first, and leaves no process, mount, cgroup, device or file', async () => {
    const devices = globSync('/sys/class/net/*');
    const second = await startCluster();
    const folder = dirname(second.kubeconfig);
    const name = folder.slice(folder.indexOf('run-') + 'run-'.length);
    const uidOf = (each: Cluster) =>
      each.exec(['kubectl', 'get', 'namespace', 'kube-system', '-o=jsonpath={.metadata.uid}']);
    const [one, two] = await Promise.all([uidOf(cluster), uidOf(second)]);
    expect([one.code, two.code]).toEqual([0, 0]);
    expect(one.stdout).not.toBe(two.stdout);
    expect(processesWith(folder)).not.toEqual([]);
    expect(globSync(`/sys/fs/cgroup/**/k8s-${name}`)).not.toEqual([]);

    await second.close();

    expect(processesWith(folder)).toEqual([]);
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(folder);
    expect(globSync(`/sys/fs/cgroup/**/k8s-${name}`)).toEqual([]);
    expect(globSync('/sys/class/net/*')).toEqual(devices);
    expect(existsSync(folder)).toBe(false);
  });
});
