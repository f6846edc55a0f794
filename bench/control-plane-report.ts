import { PROCESSORS } from './processes.ts';
import { renderReviews, type ReviewsByUse } from './token-reviews.ts';

/** The measurement of one target with one number of agents. */
export interface Step {
  target: 'control plane' | 'bare route';
  agents: number;
  replicas: number;
  accepted: number;
  errors: Record<string, number>;
  /** Processor time of all replicas by elapsed time: 1 is one processor. */
  cores: number;
  /** The same of each server next to them, by name. */
  neighbours: Record<string, number>;
  /** The largest resident memory of a replica, in megabytes. */
  rssMb: number;
  p50Ms: number;
  p99Ms: number;
  /** 99th percentile of the time until the connection was open. */
  connectP99Ms: number;
  /** 99th percentile of the delay of the load generator. */
  lateMs: number;
  reviews: ReviewsByUse;
}

/** `base + slope * x`. */
export interface Line {
  base: number;
  slope: number;
}

/** The least-squares line; null if the points have less than two different x. */
export function lineOf(points: readonly { x: number; y: number }[]): Line | null {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, each) => sum + each, 0) / values.length;
  const [x, y] = [mean(points.map((each) => each.x)), mean(points.map((each) => each.y))];
  const spread = points.reduce((sum, each) => sum + (each.x - x) ** 2, 0);
  if (!(spread > 0)) return null;
  const slope = points.reduce((sum, each) => sum + (each.x - x) * (each.y - y), 0) / spread;
  return { base: y - slope * x, slope };
}

/** The number of agents and replicas to which the measured steps are extrapolated. */
export const PROJECTED = { agents: 100_000, replicas: 3 };

export interface Projection {
  what: string;
  line: Line;
  /** Agents of one process. */
  agents: number;
  value: number;
  unit: 'cores' | 'MB';
}

type Series = [what: string, unit: Projection['unit'], agents: number, points: { x: number; y: number }[]];

/** Extrapolates the control plane's steps: each replica by its share of the agents, other servers by all agents. */
export function projectionsOf(steps: readonly Step[]): Projection[] {
  const own = steps.filter(({ target }) => target === 'control plane');
  const share = PROJECTED.agents / PROJECTED.replicas;
  const series: Series[] = [
    [
      'each replica',
      'cores',
      share,
      own.map(({ agents, replicas, cores }) => ({ x: agents / replicas, y: cores / replicas })),
    ],
    [
      'each replica',
      'MB',
      share,
      own.map(({ agents, replicas, rssMb }) => ({ x: agents / replicas, y: rssMb })),
    ],
    ...Object.keys(own[0]?.neighbours ?? {}).map((name): Series => [
      name,
      'cores',
      PROJECTED.agents,
      own.map(({ agents, neighbours }) => ({ x: agents, y: neighbours[name] ?? NaN })),
    ]),
  ];
  return series.flatMap(([what, unit, agents, points]) => {
    const line = lineOf(points);
    return line === null ? [] : [{ what, unit, agents, line, value: line.base + line.slope * agents }];
  });
}

/** Processor time per heartbeat as a multiple of the bare route with the same number of agents; null: not measured. */
export function ratioOf(steps: readonly Step[]): number | null {
  const bare = steps.find(({ target }) => target === 'bare route');
  const own = steps.find(({ target, agents }) => target === 'control plane' && agents === bare?.agents);
  return bare === undefined || own === undefined ? null : own.cores / bare.cores;
}

const HEAD = [
  '',
  'agents',
  'replicas',
  'heartbeats',
  'errors',
  'cores',
  'RSS MB',
  'p50 ms',
  'p99 ms',
  'connect p99 ms',
  'late ms',
];

/** Renders the table of the steps, the ratio and the extrapolation. */
export function renderSteps(steps: readonly Step[]): string {
  const names = Object.keys(steps[0]?.neighbours ?? {});
  const lines = [
    [...HEAD, ...names.map((name) => `${name}, cores`)],
    ...steps.map((step) => cellsOf(step, names)),
  ];
  const widths =
    lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  const pad = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0);
  const failed = steps.flatMap(({ target, agents, errors }) =>
    Object.entries(errors).map(([error, count]) => `${target}, ${agents} agents: ${count} × ${error}`),
  );
  const reviews = steps.flatMap((step) =>
    renderReviews(step.reviews).map((line) => `${step.target}, ${step.agents} agents: ${line}`),
  );
  const ratio = ratioOf(steps);
  return [
    ...lines.map((line) => line.map(pad).join('  ')),
    ...failed,
    ...reviews,
    ...(ratio === null ? [] : ['', `processor time of a heartbeat: ${ratio.toFixed(2)} × bare route`]),
    '',
    ...arithmetic(projectionsOf(steps)),
    ...(PROCESSORS === null ? ['processes were not pinned: the load and the target shared processors'] : []),
  ].join('\n');
}

function cellsOf(step: Step, names: readonly string[]): string[] {
  const errors = Object.values(step.errors).reduce((sum, count) => sum + count, 0);
  return [
    step.target,
    ...[step.agents, step.replicas, step.accepted, errors].map(String),
    ...[step.cores.toFixed(3), step.rssMb.toFixed(0)],
    ...[step.p50Ms, step.p99Ms, step.connectP99Ms, step.lateMs].map((value) => value.toFixed(1)),
    ...names.map((name) => step.neighbours[name]?.toFixed(3) ?? '-'),
  ];
}

function arithmetic(projections: readonly Projection[]): string[] {
  if (projections.length === 0) return ['no extrapolation: it needs two numbers of agents'];
  const { agents, replicas } = PROJECTED;
  return [
    `extrapolation to ${agents} agents on ${replicas} replicas (a line through the measured numbers of agents, not a measurement):`,
    ...projections.map(({ what, unit, line, agents: share, value }) => {
      const digits = unit === 'cores' ? 3 : 0;
      const slope = (1_000 * line.slope).toFixed(digits + 1);
      const sum = `${line.base.toFixed(digits)} + ${(share / 1_000).toFixed(1)} × ${slope}`;
      return `  ${what}: ${sum} per 1,000 agents = ${value.toFixed(digits)} ${unit}`;
    }),
  ];
}
