import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChildServer } from './child-server.ts';
import { TestServers } from './sockets.ts';

/** Directory into which scripts/debian-servers.sh unpacks (same default). */
export const DEBIAN_ROOT = join(
  process.env['AGENT_COMPLIANCE_CACHE'] ??
    join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'agent-compliance'),
  'debian/root',
);
const SCRIPT = join(import.meta.dirname, '../scripts/debian-servers.sh');

/** Paths of each program in Debian's packages, the unpacked path first. */
const PROGRAMS = {
  nginx: ['usr/sbin/nginx'],
  redis: ['usr/bin/redis-server'],
  postgres: ['usr/lib/postgresql/15/bin/postgres', 'usr/lib/postgresql/17/bin/postgres'],
  initdb: ['usr/lib/postgresql/15/bin/initdb', 'usr/lib/postgresql/17/bin/initdb'],
  wrk: ['usr/bin/wrk'],
  shellcheck: ['usr/bin/shellcheck'],
  zsh: ['bin/zsh', 'usr/bin/zsh'],
  fish: ['usr/bin/fish'],
} as const;

export type DebianProgram = keyof typeof PROGRAMS;

let reason: string | null | undefined;

/**
 * Why this machine cannot run Debian's servers; undefined if it can: `(whyNoDebianServers() ? describe.skip : describe)(...)`.
 * Downloads them if necessary (about ten seconds, once). Throws if the download fails unexpectedly.
 */
export function whyNoDebianServers(): string | undefined {
  if (reason === undefined) {
    const run = spawnSync(SCRIPT, { encoding: 'utf8' });
    if (run.status !== 0 && run.status !== 3)
      throw new Error(`scripts/debian-servers.sh failed: ${run.stdout}${run.stderr}`);
    reason = run.status === 0 ? null : run.stdout.trim();
    if (reason !== null) process.stderr.write(`SKIPPED: ${reason}\n`);
  }
  return reason ?? undefined;
}

export interface Program {
  command: string;
  /** Command prefix. */
  leading: string[];
  env: NodeJS.ProcessEnv;
}

/** How to run one of Debian's programs. Throws if it does not exist; call `whyNoDebianServers` first. */
export function debianServer(name: DebianProgram): Program {
  const candidates = PROGRAMS[name].flatMap((path) => [join(DEBIAN_ROOT, path), join('/', path)]);
  const command = candidates.find((path) => existsSync(path));
  if (command === undefined)
    throw new Error(`${name} not found: run scripts/debian-servers.sh (expected ${candidates.join(', ')})`);
  const libraries = ['usr/lib', 'lib'].flatMap((folder) =>
    ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((triple) => join(DEBIAN_ROOT, folder, triple)),
  );
  const env = { ...process.env, LD_LIBRARY_PATH: libraries.join(':') };
  // PostgreSQL does not run as root. In a user namespace it has another user id but can still access our files.
  const isForeign = (name === 'postgres' || name === 'initdb') && process.getuid?.() === 0;
  return isForeign
    ? {
        command: 'unshare',
        leading: ['--user', '--map-user=65534', '--map-group=65534', command],
        env,
      }
    : { command, leading: [], env };
}

export interface RunningServer {
  port: number;
  pid: number;
  /** Directory of configuration, data and logs; removed by `close`. */
  folder: string;
  /** Stops it, even if it is suspended (SIGSTOP); a second call does nothing. */
  close: () => Promise<void>;
}

/** A real Redis, empty and without persistence. @param password for AUTH; none by default */
export async function startRedis({
  password,
  port,
}: { password?: string; port?: number } = {}): Promise<RunningServer> {
  return await run('redis', port, (_folder, chosen) => [
    ...['--port', String(chosen), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    ...(password === undefined ? [] : ['--requirepass', password]),
  ]);
}

/** A real PostgreSQL with the user `postgres` and a password, required for every connection. */
export async function startPostgres({
  password = 'test-password',
  port,
}: { password?: string; port?: number } = {}): Promise<RunningServer> {
  return await run('postgres', port, async (folder, chosen) => {
    const passwordFile = join(folder, 'password');
    await writeFile(passwordFile, password);
    const data = join(folder, 'data');
    const { command, leading, env } = debianServer('initdb');
    const flags = [
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'scram-sha-256',
      '--pwfile',
      passwordFile,
      '-N',
      '-E',
      'UTF8',
    ];
    const made = spawnSync(command, [...leading, ...flags, '--locale=C'], { env, encoding: 'utf8' });
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stdout}${made.stderr}`);
    // Durability is not tested, and fsync on a busy disk would slow down every start.
    return ['-D', data, '-p', String(chosen), '-k', folder, '-h', '127.0.0.1', '-c', 'fsync=off'];
  });
}

/**
 * A real nginx.
 * @param configuration returns the content of the `http` block, from a writable directory and the port
 */
export async function startNginx(
  configuration: (folder: string, port: number) => string,
  { port }: { port?: number } = {},
): Promise<RunningServer> {
  return await run('nginx', port, async (folder, chosen) => {
    const file = join(folder, 'nginx.conf');
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((kind) => `${kind}_temp_path ${join(folder, kind)};`)
      .join('\n');
    const user = process.getuid?.() === 0 ? 'user root;' : '';
    await writeFile(
      file,
      `daemon off; master_process off; ${user}\npid ${join(folder, 'pid')};\nerror_log ${join(folder, 'error.log')};\n` +
        `events { worker_connections 4096; }\nhttp {\naccess_log off;\n${temporary}\n${configuration(folder, chosen)}\n}\n`,
    );
    return ['-p', folder, '-e', join(folder, 'error.log'), '-c', file];
  });
}

type Arguments = (folder: string, port: number) => string[] | Promise<string[]>;

async function run(
  name: DebianProgram,
  wantedPort: number | undefined,
  argumentsOf: Arguments,
): Promise<RunningServer> {
  const folder = await mkdtemp(join(tmpdir(), `agent-compliance-${name}-`));
  const port = wantedPort ?? (await new TestServers().closedPort());
  const { command, leading, env } = debianServer(name);
  const flags = await argumentsOf(folder, port);
  const child = spawn(command, [...leading, ...flags], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const server = new ChildServer(child);
  const close = async (): Promise<void> => {
    await end(child, server.ended);
    await rm(folder, { recursive: true, force: true });
  };
  const pid = await server.untilUp(() => accepts(port));
  if (pid !== null) return { port, pid, folder, close };
  await close();
  throw server.failure(name);
}

/** SIGINT is PostgreSQL's fast shutdown, which also ends its children; the other servers end on SIGINT too. */
async function end(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.kill('SIGCONT');
  child.kill('SIGINT');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await ended;
  clearTimeout(timer);
}

async function accepts(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
