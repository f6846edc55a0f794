import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Manifest } from '../core/manifest/manifest.ts';
import { policyFilesOf } from '../core/policy/generate.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { ChildServer } from './child-server.ts';
import { clusterBinary } from './cluster-binary.ts';
import { TestServers } from './sockets.ts';

/** Why the real policy engine cannot be had on this machine, or undefined when it can: `(whyNoOpa() ? describe.skip : describe)(...)`. */
export function whyNoOpa(): string | undefined {
  try {
    clusterBinary('opa');
    return undefined;
  } catch {
    // Where it could be built, a missing binary is a failure that says how to build it.
    return whyNoControlPlane();
  }
}

/** Writes what `platform generate-policy` writes into `folder`, which is then one root of the engine. */
export async function writePolicy(folder: string, manifest: Manifest): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(policyFilesOf(manifest)))
    await writeFile(join(folder, name), text);
}

export interface Opa {
  /** Without a slash at the end; what POLICY_URL takes. */
  url: string;
  pid: number;
  /** Ends it; the second call does nothing. */
  close: () => Promise<void>;
}

/**
 * A real engine with these folders, each a root of its own, started as the docs say. Throws with its log when it does
 * not come up.
 * @param port a free one by default; give it to come back where another one was
 */
export async function startOpa(folders: readonly string[], port?: number): Promise<Opa> {
  const address = `127.0.0.1:${port ?? (await new TestServers().closedPort())}`;
  const flags = ['--server', '--addr', address, '--ignore', '.*', '--log-level', 'error'];
  const child = spawn(clusterBinary('opa'), ['run', ...flags, '--skip-version-check', ...folders], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const server = new ChildServer(child);
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await server.ended;
  };
  const url = `http://${address}`;
  const pid = await server.untilUp(() => answers(`${url}/health`));
  if (pid !== null) return { url, pid, close };
  await close();
  throw server.failure('opa');
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
