import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { policyFilesOf } from '../../core/policy/generate.ts';
import { whyNoControlPlane } from '../../e2e/cluster/control.ts';
import { ChildServer } from '../machine/child-server.ts';
import { clusterBinary } from '../machine/cluster-binary.ts';
import { TestServers } from '../http/sockets.ts';

/** Why the real policy engine is not available; undefined if it is: `(whyNoOpa() ? describe.skip : describe)(...)`. */
export function whyNoOpa(): string | undefined {
  try {
    clusterBinary('opa');
    return undefined;
  } catch {
    // If it can be built, a missing binary is an error with build instructions.
    return whyNoControlPlane();
  }
}

/** Writes the files of `platform generate-policy` to `folder`, a root of the engine. */
export async function writePolicy(folder: string, manifest: Manifest): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(policyFilesOf(manifest)))
    await writeFile(join(folder, name), text);
}

export interface OpaOptions {
  /** A free port by default; set it to replace an earlier engine. */
  port?: number;
  /** Path of a Unix socket on which the engine listens too, as in pods. */
  socketPath?: string;
}

export interface Opa {
  /** Value for POLICY_URL, without trailing slash. */
  url: string;
  pid: number;
  /** Stops it; a second call does nothing. */
  close: () => Promise<void>;
}

/**
 * Starts a real engine with these directories as roots, as described in the docs. Throws with its log if it
 * fails to start.
 */
export async function startOpa(
  folders: readonly string[],
  { port, socketPath }: OpaOptions = {},
): Promise<Opa> {
  const address = `127.0.0.1:${port ?? (await new TestServers().closedPort())}`;
  const addresses = socketPath === undefined ? [address] : [address, `unix://${socketPath}`];
  const listening = addresses.flatMap((each) => ['--addr', each]);
  const flags = ['--server', ...listening, '--ignore', '.*', '--log-level', 'error'];
  const child = spawn(clusterBinary('opa'), ['run', ...flags, '--skip-version-check', ...folders], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const server = new ChildServer(child);
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await server.ended;
  };
  const url = `http://${address}`;
  const pid = await server.untilUp(() => responds(`${url}/health`));
  if (pid !== null) return { url, pid, close };
  await close();
  throw server.failure('opa');
}

async function responds(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
