import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMs, pin, spawnNode, type Started } from './processes.ts';
import { spreadOf } from './report.ts';
import type { StartResult } from './results.ts';
import {
  asInImage,
  BUILTIN,
  BUNDLE,
  CHART_HEAP,
  freePort,
  imageFlags,
  sidecarVariables,
  startAgent,
} from './targets.ts';

const GIVE_UP_MS = 20_000;
const WARM_UP = 2;

interface Start {
  ms: number;
  cpuMs: number;
}

interface Program {
  file: string;
  /** Command line flags of Node.js. */
  flags?: readonly string[];
  port: number;
  path: string;
  env: Readonly<Record<string, string>>;
}

interface StartOptions {
  directory: string;
  rounds: number;
  log: (line: string) => void;
}

/** Starts a bare server and the sidecar in turn, and compares the times until they have responded to a request. */
export async function measureStart(
  opened: Started[],
  { directory, rounds, log }: StartOptions,
): Promise<StartResult> {
  const agent = await startAgent();
  opened.push(agent);
  pin(agent.pid, 'others');
  const measured: { bare: Start; own: Start }[] = [];
  log(`${rounds} starts`);
  for (let round = 1 - WARM_UP; round <= rounds; round++) {
    const port = await freePort();
    const bare = await startOnce({
      ...{ file: join(import.meta.dirname, 'servers/bare-node.cjs'), port, path: '/' },
      env: { PORT: String(port) },
    });
    const own = await startOnce({
      ...{ file: asInImage(BUNDLE, directory), flags: imageFlags(), port, path: '/headers/orders/A-1042' },
      env: { ...(await sidecarVariables({ agent, directory }, port)), ...CHART_HEAP, ...BUILTIN },
    });
    if (round > 0) measured.push({ bare, own });
  }
  return {
    ratio: spreadOf(measured.map(({ bare, own }) => own.ms / bare.ms)),
    cpuRatio: spreadOf(measured.map(({ bare, own }) => own.cpuMs / bare.cpuMs)),
  };
}

async function startOnce({ file, flags, port, path, env }: Program): Promise<Start> {
  const begin = performance.now();
  const { child, log, close } = spawnNode(file, env, { flags });
  try {
    const pid = child.pid ?? 0;
    if (pid !== 0) pin(pid, 'target');
    while (!(await responds(port, path))) {
      if (child.exitCode !== null || performance.now() - begin > GIVE_UP_MS)
        throw new Error(`${file} did not start: ${log()}`);
      await sleep(1);
    }
    return { ms: performance.now() - begin, cpuMs: cpuMs(pid) };
  } finally {
    await close();
  }
}

const responds = (port: number, path: string): Promise<boolean> =>
  new Promise((resolve) => {
    request({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume().once('close', () => resolve(response.statusCode === 200 && response.complete));
    })
      .once('error', () => resolve(false))
      .end();
  });
