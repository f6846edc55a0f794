// The chart and the tables of the benchmark, from the saved results of a real run (bench/results.json).
import { judge, withUnit } from '../bench/bars.ts';
import type { Row } from '../bench/report.ts';
import { readSavedResults, type Results } from '../bench/results.ts';
import { DIRECT, HTTP_PROXY, SIDECAR, UNDICI, WITH_OPA } from '../bench/targets.ts';
import { withPart } from './generated-part.ts';
import { alignedTable } from './markdown-table.ts';
import { escaped } from './svg-text.ts';

const BEGIN = '<!-- Generated from bench/results.json by scripts/generate-benchmark.ts -->';

/** The rows of the chart, from top to bottom. */
const SHOWN: readonly [target: string, label: string][] = [
  ['nginx', 'nginx'],
  [SIDECAR, 'sidecar'],
  [UNDICI, 'bare undici'],
  [HTTP_PROXY, 'bare http-proxy'],
  [WITH_OPA, 'sidecar with OPA'],
];
const TITLES: Readonly<Record<string, string>> = {
  json: 'small JSON document',
  chat: 'chat completion',
  sse: 'streamed chat completion',
};

interface ShownBar {
  label: string;
  isOwn: boolean;
  value: number;
}

function barsOf(rows: readonly Row[], scenario: string): ShownBar[] {
  return SHOWN.flatMap(([target, label]) => {
    const row = rows.find((each) => each.target === target && each.scenario === scenario);
    const value = row?.against[UNDICI]?.cpu.median;
    return value === undefined ? [] : [{ label, isOwn: target.startsWith('sidecar'), value }];
  });
}

const [WIDTH, LEFT, RIGHT, BAR, TOP] = [920, 190, 70, 24, 76];

/** `docs/images/benchmark.svg`: requests per processor time, relative to bare undici. */
export function benchmarkChart({ throughput = [], machine }: Results = readSavedResults()): string {
  const groups = [...new Set(throughput.map(({ scenario }) => scenario))].map((scenario) => ({
    title: TITLES[scenario] ?? scenario,
    bars: barsOf(throughput, scenario),
  }));
  const longest = Math.max(...groups.flatMap(({ bars }) => bars.map(({ value }) => value)), 1);
  const scale = (WIDTH - LEFT - RIGHT) / longest;
  const parts: string[] = [];
  // Above the line of bare undici, which would cross them.
  const values: string[] = [];
  let y = TOP;
  for (const { title, bars } of groups) {
    parts.push(`  <text class="name" x="20" y="${y + 16}">${escaped(title)}</text>`);
    y += 28;
    for (const { label, isOwn, value } of bars) {
      const width = (value * scale).toFixed(1);
      const end = (LEFT + value * scale + 8).toFixed(1);
      parts.push(
        `  <text class="soft end" x="${LEFT - 10}" y="${y + 16}">${escaped(label)}</text>`,
        `  <rect class="${isOwn ? 'own' : 'other'}" x="${LEFT}" y="${y + 3}" width="${width}" height="${BAR - 6}" rx="3" />`,
      );
      values.push(`  <text class="value" x="${end}" y="${y + 16}">${value.toFixed(2)}</text>`);
      y += BAR;
    }
    y += 18;
  }
  const unit = (LEFT + scale).toFixed(1);
  const height = y + 26;
  const where = `${machine.processors} processors (${machine.processor}), Node.js ${machine.node.slice(1)}, ${machine.date}. Medians of noisy rounds.`;
  const described = groups.map(
    ({ title, bars }) =>
      `${title}: ${bars.map(({ label, value }) => `${label} ${value.toFixed(2)}`).join(', ')}`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title desc">
  <title id="title">Requests per processor time of the sidecar and of other proxies</title>
  <desc id="desc">Multiples of bare undici. ${escaped(described.join('. '))}.</desc>
  <style>
    :root { --bg: #ffffff; --ink: #1f2328; --soft: #57606a; --line: #8c959f; --bar: #afb8c1; --own: #0969da; }
    @media (prefers-color-scheme: dark) {
      :root { --bg: #0d1117; --ink: #e6edf3; --soft: #9198a1; --line: #6e7681; --bar: #484f58; --own: #4493f8; }
    }
    text { font: 14px -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif; fill: var(--ink); }
    .name { font-weight: 600; }
    .soft { fill: var(--soft); font-size: 12.5px; }
    .end { text-anchor: end; }
    .value { paint-order: stroke; stroke: var(--bg); stroke-width: 5px; }
    .own { fill: var(--own); }
    .other { fill: var(--bar); }
    .unit { stroke: var(--line); stroke-dasharray: 4 4; }
  </style>
  <rect width="${WIDTH}" height="${height}" rx="10" fill="var(--bg)" />
  <text class="name" x="20" y="32">Requests per processor time, as multiples of bare undici</text>
  <text class="soft" x="20" y="54">Longer is better. The sidecar reads usage, audits and evaluates the policy of every request.</text>
${parts.join('\n')}
  <line class="unit" x1="${unit}" y1="${TOP}" x2="${unit}" y2="${y}" />
${values.join('\n')}
  <text class="soft" x="20" y="${y + 8}">${escaped(where)}</text>
</svg>
`;
}

const described = ({ machine, settings }: Results): string =>
  `${machine.date}, ${machine.processors} processors (${machine.processor}), Linux ${machine.kernel}, Node.js ${machine.node.slice(1)}, commit ${machine.commit}, ` +
  `medians of ${settings.rounds} rounds, load average ${machine.load.toFixed(1)} before the run`;

/** `README.md` with the figures of the saved run that most readers need. */
export function readmeWithBenchmark(): string {
  const results = readSavedResults();
  return withPart('README.md', BEGIN, `Measured: ${described(results)}.\n\n${figureTable(results)}`);
}

/** Processor time per request, and what a sidecar needs next to an agent. */
function figureTable({ throughput = [], latency, heap }: Results): string {
  const speeds = throughput
    .filter(({ target, scenario }) => target === SIDECAR && scenario === 'chat')
    .map(({ scenario, cpuUs, against }): [string, string] => {
      const [proxy, undici] = [against[HTTP_PROXY]?.cpu.median, against[UNDICI]?.cpu.median];
      const ratios = `${proxy?.toFixed(2)} × bare http-proxy, ${undici?.toFixed(2)} × bare undici`;
      return [
        `processor time per request, ${TITLES[scenario] ?? scenario}`,
        `${cpuUs.median.toFixed(0)} µs; requests per processor time ${ratios}`,
      ];
    });
  const added = latency?.find(({ target }) => target === SIDECAR);
  const others: [string, string | undefined][] = [
    ['added latency at 1,000 requests per second, p50', added && withUnit(added.addedP50Ms.median, 'ms')],
    ['memory, idle', heap && withUnit(heap.idleMb.median, 'MB')],
    ['memory, after load', heap && withUnit(heap.afterLoadMb.median, 'MB')],
  ];
  const known = others.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return alignedTable(['Figure', 'Measured'], [...speeds, ...known]);
}

function barTable(results: Results): string {
  const rows = judge(results).map(({ name, value, unit, bar, isUpper, isMet }) => [
    name,
    withUnit(value, unit),
    `${isUpper ? 'at most' : 'at least'} ${withUnit(bar, unit)}`,
    isMet ? 'yes' : 'no',
  ]);
  return alignedTable(['Figure', 'Measured', 'Bar', 'Met'], rows);
}

/** `bench/README.md` with the table of throughput of the saved run. */
export function benchPageWithResults(): string {
  const results = readSavedResults();
  const rows = results.throughput ?? [];
  const scenarios = [...new Set(rows.map(({ scenario }) => scenario))];
  const lines = [...Map.groupBy(rows, ({ target }) => target)]
    .toSorted(([a], [b]) => Number(b === DIRECT) - Number(a === DIRECT))
    .map(([target, own]) => [
      target,
      ...scenarios.map((scenario) => cellOf(own.find((row) => row.scenario === scenario))),
    ]);
  return withPart(
    'bench/README.md',
    BEGIN,
    `Measured: ${described(results)}. Each cell has throughput / requests per processor time, as multiples of bare http-proxy, and\n` +
      `requests per processor time as a multiple of bare undici.\n\n${alignedTable(['Target', ...scenarios], lines)}\n` +
      `The bars of the project, in the same run:\n\n${barTable(results)}`,
  );
}

function cellOf(row: Row | undefined): string {
  const [proxy, undici] = [row?.against[HTTP_PROXY], row?.against[UNDICI]];
  if (proxy === undefined || undici === undefined) return '';
  return [proxy.throughput, proxy.cpu, undici.cpu].map(({ median }) => median.toFixed(2)).join(' / ');
}
