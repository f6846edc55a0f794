import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { clusterBinary } from '../../testing/cluster-binary.ts';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from './control.ts';
import { processesWith } from './processes.ts';
import { run } from './run.ts';

const onOneThatCanRun = whyNoControlPlane() === undefined ? test : test.skip;

interface AuditEvent {
  stage: string;
  verb: string;
  user: { username: string };
  objectRef?: { resource: string };
}

/** The pods that were made; a line that is being written is left out. */
const creationsIn = (log: string): AuditEvent[] =>
  log
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter(
      ({ verb, stage, objectRef }) =>
        verb === 'create' && stage === 'ResponseComplete' && objectRef?.resource === 'pods',
    );

const kubectl = (kubeconfig: string, ...args: string[]) =>
  run([clusterBinary('kubectl'), '--kubeconfig', kubeconfig, ...args]);

onOneThatCanRun(
  'control planes run side by side on their own ports, and are gone with their files when closed',
  async () => {
    const both = await Promise.all([startControlPlane(), startControlPlane()]);
    const states = await Promise.all(
      both.map(({ kubeconfig }) => kubectl(kubeconfig, 'get', '--raw', '/readyz')),
    );
    expect(states).toEqual([
      { stdout: 'ok', stderr: '', code: 0 },
      { stdout: 'ok', stderr: '', code: 0 },
    ]);
    expect(both[0].url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(both[0].url).not.toBe(both[1].url);

    const folders = both.map(({ kubeconfig }) => dirname(dirname(kubeconfig)));
    expect(folders.map((folder) => processesWith(folder).length)).not.toContain(0);

    await Promise.all(both.map((each: ControlPlane) => each.close()));

    expect(folders.flatMap(processesWith)).toEqual([]);
    expect(folders.map((folder) => existsSync(folder))).toEqual([false, false]);
  },
  120_000,
);

onOneThatCanRun(
  'controllers make the Pods of a Deployment, and flags for an audit log reach the API server',
  async () => {
    const scratch = await mkdtemp(join(tmpdir(), 'agent-compliance-audit-'));
    const log = join(scratch, 'audit.log');
    const policy = join(scratch, 'policy.yaml');
    await writeFile(policy, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n');
    const controlPlane = await startControlPlane({
      controllers: true,
      apiServerArgs: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`],
    });
    try {
      const { kubeconfig } = controlPlane;
      await kubectl(kubeconfig, 'create', 'deployment', 'web', '--image=none');
      const created = await kubectl(
        kubeconfig,
        'wait',
        '--for=create',
        'pod',
        '-l',
        'app=web',
        '--timeout=100s',
      );
      expect(created).toMatchObject({ code: 0 });
      // A watch shows the pod a moment before the request that made it is complete.
      let creations: AuditEvent[] = [];
      while (creations.length === 0) {
        creations = creationsIn(await readFile(log, 'utf8'));
        await sleep(50);
      }
      expect(creations.map(({ user }) => user.username)).toEqual([
        'system:serviceaccount:kube-system:replicaset-controller',
      ]);
    } finally {
      await controlPlane.close();
      await rm(scratch, { recursive: true });
    }
  },
  120_000,
);

onOneThatCanRun(
  'a control plane ends when the process that started it is killed',
  async () => {
    const script = `
      import { startControlPlane } from ${JSON.stringify(join(import.meta.dirname, 'control.ts'))};
      console.log((await startControlPlane()).kubeconfig);`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [kubeconfig] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    const folder = dirname(dirname(kubeconfig.trim()));
    expect(processesWith(folder)).not.toEqual([]);
    child.kill('SIGKILL');
    const deadline = Date.now() + 100_000;
    while (processesWith(folder).length > 0 && Date.now() < deadline) await sleep(100);
    expect(processesWith(folder)).toEqual([]);
  },
  120_000,
);
