// Starts a real API server with etcd on free loopback ports in about three seconds, for tests that need no node.
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hold } from './hold.ts';
import { SPARES, takeSpare } from './spare.ts';

export interface ControlPlane {
  /** Path to the kubeconfig of an administrator. Keys of other components are in the same directory. */
  kubeconfig: string;
  /** URL of the API server, with the port. */
  url: string;
  /** Stops it and removes its files. */
  close: () => Promise<void>;
}

export interface ControlPlaneOptions {
  /** Also start the controller manager and the scheduler: ReplicaSets, garbage collection, ServiceAccount tokens. */
  controllers?: boolean;
  /** Additional flags of the API server. */
  apiServerArgs?: readonly string[];
}

/**
 * Returns a control plane for exclusive use: a spare one (share-spares.ts) if available and no option is set, else a new one.
 * Throws with the end of its logs if it fails to start.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const spares = process.env[SPARES];
  const isPlain = Object.keys(options).length === 0;
  const started = isPlain && spares !== undefined ? takeSpare(spares) : startOwnControlPlane(options);
  const controlPlane = await started;
  // kubectl and helm cache the kinds of an API server by address, which an earlier test may have used.
  process.env['KUBECACHEDIR'] = join(controlPlane.kubeconfig, '../../kube-cache');
  return controlPlane;
}

/** Starts a control plane. Throws with the end of its logs if it fails to start. */
export async function startOwnControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const dir = await mkdtemp(join(tmpdir(), 'agent-compliance-control-'));
  const remove = () => rm(dir, { recursive: true, force: true });
  try {
    const held = await hold('control', {
      DIR: dir,
      // Free ports, independent of the caller's environment.
      PORT: '',
      ETCD_PORT: '',
      KCM: options.controllers === true ? '1' : '0',
      APISERVER_EXTRA: options.apiServerArgs?.join(' ') ?? '',
    });
    const kubeconfig = join(dir, 'pki/admin.kubeconfig');
    const url = /server: "(.*?)"/.exec(await readFile(kubeconfig, 'utf8'))?.[1] ?? '';
    return {
      kubeconfig,
      url,
      close: async () => {
        await held.close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Why no control plane can run on this machine; undefined if one can run: `(whyNot() ? describe.skip : describe)(...)`. */
export function whyNoControlPlane(): string | undefined {
  const check = spawnSync(join(import.meta.dirname, 'check.sh'), ['control'], { encoding: 'utf8' });
  return check.status === 3 ? check.stderr.trim() : undefined;
}
