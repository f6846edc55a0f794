// Measures the start of the built command as whole processes, as multiples of `node -e 0` in the same run. Exits with 1 if a
// median is above its limit.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { COMMAND_BUNDLE } from '../testing/built-command.ts';
import { FULL_MANIFEST } from '../testing/manifests/manifest-text.ts';
import { integerUpTo } from './options.ts';
import { spreadOf, type Spread } from './report.ts';

interface Program {
  name: string;
  args: readonly string[];
  /** Whether compiled code of earlier runs may be used, as for a user who ran the command before. */
  hasCache: boolean;
  /** Largest median, as a multiple of the baseline; null: only printed. */
  limit: number | null;
}

const LINES = 500;
const FILE = 'agent.yaml';
const BASELINE: Program = { name: 'node -e 0', args: ['-e', '0'], hasCache: true, limit: null };
const PROGRAMS: readonly Program[] = [
  BASELINE,
  { name: 'platform --version', args: [COMMAND_BUNDLE, '--version'], hasCache: true, limit: 2 },
  {
    name: `platform validate, ${LINES} lines`,
    args: [COMMAND_BUNDLE, 'validate', FILE],
    hasCache: true,
    limit: 4,
  },
  {
    name: 'the same without a compile cache',
    args: [COMMAND_BUNDLE, 'validate', FILE],
    hasCache: false,
    limit: null,
  },
];

const HELP = `Usage: npm run bench:command -- [options]

Measure the start of the built command, as multiples of ${BASELINE.name}.

  --rounds N    Number of rounds after the warm-up (1..1000, default 20)
  --json        Print the result as JSON
  --help        Print this help`;

interface Row {
  name: string;
  ms: Spread;
  /** Divided by the baseline of the same round. */
  ratio: Spread;
  limit: number | null;
}

/** The full manifest with as many tools as it needs. */
function longManifest(): string {
  const tool = (number: number): string =>
    [
      `    - name: tool-${number}`,
      '      type: function',
      `      description: Does the work of step ${number} and returns its result`,
      '      annotations:',
      '        readOnlyHint: true',
      '        destructiveHint: false',
      '',
    ].join('\n');
  const missing = LINES - FULL_MANIFEST.split('\n').length;
  const tools = Array.from({ length: Math.ceil(missing / 6) }, (_, index) => tool(index)).join('');
  return FULL_MANIFEST.replace(/^ {2}tools:\n/m, (line) => line + tools);
}

/** Milliseconds of one process, from its start to its end. Throws if it fails. */
function timeOf({ name, args, hasCache }: Program, directory: string): number {
  const env = {
    PATH: process.env['PATH'],
    HOME: directory,
    ...(hasCache ? {} : { NODE_DISABLE_COMPILE_CACHE: '1' }),
  };
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: directory, env, encoding: 'utf8' });
  const ms = performance.now() - startedAt;
  if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`);
  return ms;
}

/** Runs the programs in turn, so that other load on the machine affects all of them. The first rounds fill the cache. */
function measure(rounds: number): Row[] {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    writeFileSync(join(directory, FILE), longManifest());
    for (let warmUp = 0; warmUp < 2; warmUp += 1) for (const program of PROGRAMS) timeOf(program, directory);
    const times = Array.from({ length: rounds }, () => PROGRAMS.map((program) => timeOf(program, directory)));
    return PROGRAMS.map(({ name, limit }, index) => ({
      name,
      limit,
      ms: spreadOf(times.map((round) => round[index] ?? NaN)),
      ratio: spreadOf(times.map((round) => (round[index] ?? NaN) / (round[0] ?? NaN))),
    }));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const isOver = ({ ratio, limit }: Row): boolean => limit !== null && ratio.median > limit;

function render(row: Row): string {
  const { name, ms, ratio, limit } = row;
  const range = `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}..${ratio.max.toFixed(2)})`;
  const judged = limit === null ? '' : isOver(row) ? `  ABOVE THE LIMIT ${limit}` : `  limit ${limit}`;
  return `${name.padEnd(34)}${ms.median.toFixed(0).padStart(6)} ms  × ${range}${judged}`;
}

function main(args: string[]): number {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '20' },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (!existsSync(COMMAND_BUNDLE)) throw new Error(`${COMMAND_BUNDLE} does not exist; run make build`);
  const rows = measure(integerUpTo('--rounds', values.rounds, 1000));
  console.log(values.json ? JSON.stringify(rows, null, 2) : rows.map(render).join('\n'));
  return rows.some(isOver) ? 1 : 0;
}

try {
  process.exitCode = main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
