import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMs, pin, spawnNode, type Started } from './processes.ts';
import { spreadOf } from './report.ts';
import type { StartRow } from './results.ts';
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

const BARE = 'node:http';
const STARTED = 'sidecar';
const GIVE_UP_MS = 20_000;
const WARM_UP = 2;

interface Start {
  ms: number;
  cpuMs: number;
}

interface Program {
  name: string;
  file: string;
  /** Command line flags of Node.js. */
  flags?: readonly string[];
  path: string;
  env: (port: number) => Promise<Readonly<Record<string, string>>>;
}

export interface StartOptions {
  directory: string;
  rounds: number;
  log: (line: string) => void;
  /** Path of the sidecar's main.js. */
  bundle?: string;
}

/** Starts a bare server and the sidecar in turn, and takes the time until each has answered a request. */
export async function measureStart(
  opened: Started[],
  { directory, rounds, log, bundle = BUNDLE }: StartOptions,
): Promise<StartRow[]> {
  const agent = await startAgent();
  opened.push(agent);
  pin(agent.pid, 'others');
  const programs: Program[] = [
    {
      name: BARE,
      file: join(import.meta.dirname, 'servers/bare-node.cjs'),
      path: '/',
      env: (port) => Promise.resolve({ PORT: String(port) }),
    },
    {
      name: STARTED,
      file: asInImage(bundle, directory),
      flags: imageFlags(),
      path: '/headers/orders/A-1042',
      env: async (port) => ({
        ...(await sidecarVariables({ agent, directory }, port)),
        ...CHART_HEAP,
        ...BUILTIN,
      }),
    },
  ];
  const measured: Record<string, Start>[] = [];
  log(`${rounds} starts`);
  for (let round = 1 - WARM_UP; round <= rounds; round++) {
    const starts: Record<string, Start> = {};
    for (const program of programs) starts[program.name] = await startOnce(program);
    if (round > 0) measured.push(starts);
  }
  return programs.map(({ name }) => rowOf(name, measured));
}

async function startOnce({ file, flags, path, env }: Program): Promise<Start> {
  const port = await freePort();
  const variables = await env(port);
  const begin = performance.now();
  const { child, log, close } = spawnNode(file, variables, { flags });
  try {
    const pid = child.pid ?? 0;
    if (pid !== 0) pin(pid, 'target');
    while (!(await answers(port, path))) {
      if (child.exitCode !== null || performance.now() - begin > GIVE_UP_MS)
        throw new Error(`${file} did not start: ${log()}`);
      await sleep(1);
    }
    return { ms: performance.now() - begin, cpuMs: cpuMs(pid) };
  } finally {
    await close();
  }
}

const answers = (port: number, path: string): Promise<boolean> =>
  new Promise((resolve) => {
    request({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume().once('close', () => resolve(response.statusCode === 200 && response.complete));
    })
      .once('error', () => resolve(false))
      .end();
  });

function rowOf(target: string, rounds: readonly Record<string, Start>[]): StartRow {
  const over = (value: (own: Start, bare: Start) => number): ReturnType<typeof spreadOf> =>
    spreadOf(
      rounds.flatMap(({ [target]: own, [BARE]: bare }) =>
        own === undefined || bare === undefined ? [] : [value(own, bare)],
      ),
    );
  return {
    target,
    ms: over(({ ms }) => ms),
    cpuMs: over((own) => own.cpuMs),
    ratio: over((own, bare) => own.ms / bare.ms),
    cpuRatio: over((own, bare) => own.cpuMs / bare.cpuMs),
  };
}
