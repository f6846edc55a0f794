// A real API server with its etcd, on free loopback ports, for tests that need no node: about three seconds.
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hold } from './hold.ts';
import { SPARES, takeSpare } from './spare.ts';

export interface ControlPlane {
  /** Of an administrator. The keys of the other components lie beside it. */
  kubeconfig: string;
  /** Of the API server, with the port. */
  url: string;
  /** Ends it and removes its files. */
  close: () => Promise<void>;
}

export interface ControlPlaneOptions {
  /** Also the controller manager and the scheduler: ReplicaSets, garbage collection, ServiceAccount tokens. */
  controllers?: boolean;
  /** Further flags of the API server. */
  apiServerArgs?: readonly string[];
}

/**
 * A control plane of the caller's own: the spare one, if there is one (share-spares.ts) and no option is set, or else a new one.
 * Throws with the end of its logs when it does not come up.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const spares = process.env[SPARES];
  const isPlain = Object.keys(options).length === 0;
  const started = isPlain && spares !== undefined ? takeSpare(spares) : startOwnControlPlane(options);
  const controlPlane = await started;
  // kubectl and helm keep the kinds of an API server by its address, which an earlier one of another test may have had.
  process.env['KUBECACHEDIR'] = join(controlPlane.kubeconfig, '../../kube-cache');
  return controlPlane;
}

/** Starts a control plane. Throws with the end of its logs when it does not come up. */
export async function startOwnControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const dir = await mkdtemp(join(tmpdir(), 'agent-compliance-control-'));
  const remove = () => rm(dir, { recursive: true, force: true });
  try {
    const held = await hold('control', {
      DIR: dir,
      // Free ones, whatever the caller's environment says.
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

/** Why no control plane can run on this machine, or undefined when one can: `(whyNot() ? describe.skip : describe)(...)`. */
export function whyNoControlPlane(): string | undefined {
  const check = spawnSync(join(import.meta.dirname, 'check.sh'), ['control'], { encoding: 'utf8' });
  return check.status === 3 ? check.stderr.trim() : undefined;
}
