import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ChildServer } from './child-server.ts';
import { TestServers } from '../http/sockets.ts';

const CACHE = join(
  process.env['AGENT_COMPLIANCE_CACHE'] ??
    join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'agent-compliance'),
  'debian',
);
/** Directory into which scripts/debian-servers.sh unpacks the servers (same default). */
export const DEBIAN_ROOT = join(CACHE, 'root');
/** The same for Chromium and its fonts. */
export const BROWSER_ROOT = join(CACHE, 'browser');
const ALERTING_ROOT = join(CACHE, 'alerting');
const LOGGING_ROOT = join(CACHE, 'logging');
const SCRIPT = join(import.meta.dirname, '../../scripts/debian-servers.sh');

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
  promtool: ['usr/bin/promtool'],
  prometheus: ['usr/bin/prometheus'],
  alertmanager: ['usr/bin/prometheus-alertmanager'],
  amtool: ['usr/bin/amtool'],
  rsyslog: ['usr/sbin/rsyslogd'],
} as const;

export type DebianProgram = keyof typeof PROGRAMS;

type Group = 'servers' | 'browser' | 'alerting' | 'logging';
const reasons = new Map<Group, string | null>();

/**
 * Why this machine cannot run Debian's servers; undefined if it can: `(whyNoDebianServers() ? describe.skip : describe)(...)`.
 * Downloads them if necessary (about ten seconds, once). Throws if the download fails unexpectedly.
 */
export const whyNoDebianServers = (): string | undefined => whyNo('servers');

/** The same for Chromium; see testing/browser/chromium.ts. */
export const whyNoBrowser = (): string | undefined => whyNo('browser');

/** The path of a program of Prometheus. On a machine without Debian's packages, the one in the PATH. */
export function alertingProgram(name: 'promtool' | 'prometheus' | 'alertmanager' | 'amtool'): string {
  whyNo('alerting');
  return installed(name) ?? name;
}

/** The same for rsyslog. */
export const whyNoRsyslog = (): string | undefined => whyNo('logging');

/** How to run rsyslog, with its modules. Throws if it does not exist; call `whyNoRsyslog` first. */
export function rsyslog(): Program {
  const { command, env } = debianServer('rsyslog');
  if (!command.startsWith(LOGGING_ROOT)) return { command, leading: [], env };
  const libraries = libraryPath(LOGGING_ROOT);
  const modules = libraries.split(':').map((folder) => join(folder, 'rsyslog'));
  return { command, leading: ['-M', modules.join(':')], env: { ...env, LD_LIBRARY_PATH: libraries } };
}

function whyNo(group: Group): string | undefined {
  let reason = reasons.get(group);
  if (reason === undefined) {
    const run = spawnSync(SCRIPT, [group], { encoding: 'utf8' });
    if (run.status !== 0 && run.status !== 3)
      throw new Error(`scripts/debian-servers.sh ${group} failed: ${run.stdout}${run.stderr}`);
    reason = run.status === 0 ? null : run.stdout.trim();
    if (reason !== null) process.stderr.write(`SKIPPED: ${reason}\n`);
    reasons.set(group, reason);
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
  const command = installed(name);
  if (command === undefined)
    throw new Error(
      `${name} not found: run scripts/debian-servers.sh (expected ${PROGRAMS[name].join(', ')})`,
    );
  const env = { ...process.env, LD_LIBRARY_PATH: libraryPath(DEBIAN_ROOT) };
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

/**
 * The command of Debian's Alertmanager, which reads its templates from /usr/share, unlike other builds. It gets a /usr/share of its
 * own, because nothing is installed there.
 */
export function alertmanagerCommand(): string[] {
  const program = alertingProgram('alertmanager');
  if (!program.startsWith(ALERTING_ROOT)) return [program];
  const isolated = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-ec'];
  return [...isolated, 'mount --bind "$0" /usr/share; exec "$@"', join(ALERTING_ROOT, 'usr/share'), program];
}

function installed(name: DebianProgram): string | undefined {
  const roots = [DEBIAN_ROOT, ALERTING_ROOT, LOGGING_ROOT, '/'];
  return PROGRAMS[name]
    .flatMap((path) => roots.map((root) => join(root, path)))
    .find((path) => existsSync(path));
}

/** LD_LIBRARY_PATH for the programs that were unpacked into `root`. */
export function libraryPath(root: string): string {
  return (
    ['usr/lib', 'lib']
      .flatMap((folder) =>
        ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((triple) => join(root, folder, triple)),
      )
      // libpulse, which Chromium needs, names this directory by its absolute path.
      .flatMap((folder) => [folder, join(folder, 'pulseaudio')])
      .join(':')
  );
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

/** A PostgreSQL server that a test can end and start again. */
export interface PostgresServer extends RunningServer {
  /** Ends the server and keeps its data. SIGINT: a fast shutdown; SIGKILL: a crash. */
  stop(signal?: 'SIGINT' | 'SIGKILL'): Promise<void>;
  /** Starts the stopped server with the same data, port and settings. Resolves when it accepts statements. */
  start(): Promise<void>;
}

export interface PostgresOptions {
  password?: string;
  port?: number;
  /** PEM texts. The certificate is not required from clients; `isRequired`: connections without TLS are rejected. */
  tls?: { cert: string; key: string; isRequired?: boolean };
}

/** A real PostgreSQL with the user `postgres` and a password, required for every connection. */
export async function startPostgres({
  password = 'test-password',
  port,
  tls,
}: PostgresOptions = {}): Promise<PostgresServer> {
  return await run(
    'postgres',
    port,
    async (folder, chosen) => {
      const passwordFile = join(folder, 'password');
      await writeFile(passwordFile, password);
      const data = join(folder, 'data');
      const { command, leading, env } = debianServer('initdb');
      const flags = [
        ...['-D', data, '-U', 'postgres', '-A', 'scram-sha-256', '--pwfile', passwordFile],
        ...['-N', '-E', 'UTF8', '--locale=C'],
      ];
      const made = spawnSync(command, [...leading, ...flags], { env, encoding: 'utf8' });
      if (made.status !== 0) throw new Error(`initdb failed: ${made.stdout}${made.stderr}`);
      const secured = tls === undefined ? [] : await withTls(folder, tls);
      // The machine does not crash, and fsync on a busy disk would slow down every start.
      const settings = ['-c', 'fsync=off', ...secured];
      return ['-D', data, '-p', String(chosen), '-k', folder, '-h', '127.0.0.1', ...settings];
    },
    (chosen) => acceptsStatements(chosen, password),
  );
}

async function withTls(folder: string, tls: NonNullable<PostgresOptions['tls']>): Promise<string[]> {
  const [certFile, keyFile] = [join(folder, 'server.crt'), join(folder, 'server.key')];
  await writeFile(certFile, tls.cert);
  // The server rejects a key that other users can read.
  await writeFile(keyFile, tls.key, { mode: 0o600 });
  if (tls.isRequired === true) {
    const rules = join(folder, 'data/pg_hba.conf');
    await writeFile(rules, (await readFile(rules, 'utf8')).replaceAll(/^host\b/gm, 'hostssl'));
  }
  return ['-c', 'ssl=on', '-c', `ssl_cert_file=${certFile}`, '-c', `ssl_key_file=${keyFile}`];
}

/** PostgreSQL accepts connections before it has read its log, and rejects statements until then. */
async function acceptsStatements(port: number, password: string): Promise<boolean> {
  const client = new pg.Client({
    ...{ host: '127.0.0.1', port, user: 'postgres', database: 'postgres', password, ssl: false },
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch (error) {
    // A server that requires TLS is up too. 57P03: the server is starting.
    return error instanceof pg.DatabaseError && error.code !== '57P03';
  } finally {
    client.end().catch(() => undefined);
  }
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

/** How often a server is started again after a crash, while parts of the crashed server still end. */
const STARTS = 100;

async function run(
  name: DebianProgram,
  wantedPort: number | undefined,
  argumentsOf: Arguments,
  isUp: (port: number) => Promise<boolean> = accepts,
): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), `agent-compliance-${name}-`));
  const port = wantedPort ?? (await new TestServers().closedPort());
  const { command, leading, env } = debianServer(name);
  const flags = await argumentsOf(folder, port);
  const launch = async (): Promise<Launched> => {
    const child = spawn(command, [...leading, ...flags], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const server = new ChildServer(child);
    const pid = await server.untilUp(() => isUp(port));
    if (pid !== null) return { pid, child, ended: server.ended };
    await end(child, server.ended);
    throw server.failure(name);
  };
  let current: Launched;
  try {
    current = await launch();
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    port,
    folder,
    get pid() {
      return current.pid;
    },
    stop: (signal) => end(current.child, current.ended, signal),
    async start() {
      for (let attempt = 1; ; attempt += 1) {
        try {
          current = await launch();
          return;
        } catch (error) {
          if (attempt === STARTS || !/still in use|already exists/.test(String(error))) throw error;
          await sleep(100);
        }
      }
    },
    async close() {
      await end(current.child, current.ended);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Launched {
  pid: number;
  child: ChildProcess;
  ended: Promise<void>;
}

/** SIGINT is PostgreSQL's fast shutdown, which also ends its children; the other servers end on SIGINT too. */
async function end(
  child: ChildProcess,
  ended: Promise<void>,
  signal: 'SIGINT' | 'SIGKILL' = 'SIGINT',
): Promise<void> {
  child.kill('SIGCONT');
  child.kill(signal);
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

/** Maximum number of starts, and milliseconds between two of them. */
const [RESTARTS, RESTART_MS] = [200, 50];

/**
 * Starts PostgreSQL again, with the command line, the data and the port of a server that was killed. PostgreSQL does not start
 * while a process of the killed server still uses the data, so the start is repeated. The killed server needs no `close`.
 */
export async function restartPostgres({ folder, port }: RunningServer): Promise<RunningServer> {
  const { command, leading, env } = debianServer('postgres');
  const [, ...flags] = (await readFile(join(folder, 'data/postmaster.opts'), 'utf8')).split(' "');
  const args = [...leading, ...flags.map((flag) => flag.trimEnd().slice(0, -1))];
  for (let starts = 1; ; starts += 1) {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const server = new ChildServer(child);
    const pid = await server.untilUp(() => accepts(port));
    const close = async (): Promise<void> => {
      await end(child, server.ended);
      await rm(folder, { recursive: true, force: true });
    };
    if (pid !== null) return { port, pid, folder, close };
    await end(child, server.ended);
    if (starts === RESTARTS) throw server.failure('postgres');
    await sleep(RESTART_MS);
  }
}
