import { renderBars, judge } from './bars.ts';
import { renderColumns, renderTable, type Spread } from './report.ts';
import type { HeapResult, LatencyRow, Results, StartRow, StreamMemory } from './results.ts';
import { BASELINES, UNDICI } from './targets.ts';

/** Renders the results of all sections as text. */
export function renderResults(results: Results): string {
  const { throughput, memory, tls, lanes, latency, streams, start, heap } = results;
  const judged = judge(results);
  const parts: [title: string, text: string | undefined][] = [
    ['throughput and latency at full load', throughput && renderTable(throughput, BASELINES)],
    ['memory, MB, without a limit except for the sidecar', memory && memoryTable(memory)],
    ['an agent with TLS', tls && renderTable(tls, [UNDICI])],
    ['an egress lane, to a vendor with TLS', lanes && renderTable(lanes, [UNDICI])],
    ['1,000 requests per second', latency && latencyTable(latency)],
    ['open streams', streams && streamsText(streams)],
    ['start to first answer', start && startTable(start)],
    ["the sidecar's heap in a pod", heap && heapTable(heap)],
    ['bars', judged.length > 0 ? renderBars(judged) : undefined],
  ];
  return parts.flatMap(([title, text]) => (text === undefined ? [] : [`== ${title}\n${text}`])).join('\n\n');
}

function rangeOf({ min, median, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)}..${max.toFixed(digits)})`;
}

const memoryTable = (memory: NonNullable<Results['memory']>): string =>
  renderColumns([
    ['', 'idle', 'after load'],
    ...memory.map(({ target, idleMb, afterLoadMb }) => [target, idleMb.toFixed(0), afterLoadMb.toFixed(0)]),
  ]);

const latencyTable = (rows: readonly LatencyRow[]): string =>
  renderColumns([
    ['', 'p50 ms', 'p99 ms', 'added p50', 'added p99', 'share of a processor', 'generator late, p99'],
    ...rows.map((row) => [
      row.target,
      rangeOf(row.p50Ms, 2),
      rangeOf(row.p99Ms, 2),
      rangeOf(row.addedP50Ms, 2),
      rangeOf(row.addedP99Ms, 2),
      `${(row.share.median * 100).toFixed(1)} %`,
      rangeOf(row.lateP99Ms, 2),
    ]),
  ]);

const streamsText = ({ streams, beforeMb, openMb }: StreamMemory): string =>
  `${streams} streams: ${beforeMb.toFixed(0)} MB before, at most ${openMb.toFixed(0)} MB while they are open`;

const startTable = (rows: readonly StartRow[]): string =>
  renderColumns([
    ['', 'ms', 'cpu ms', 'ms × bare', 'cpu × bare'],
    ...rows.map((row) => [
      row.target,
      rangeOf(row.ms, 0),
      rangeOf(row.cpuMs, 0),
      rangeOf(row.ratio, 2),
      rangeOf(row.cpuRatio, 2),
    ]),
  ]);

const heapTable = (heap: HeapResult): string =>
  renderColumns([
    ['idle MB', rangeOf(heap.idleMb, 1)],
    ['not shared', rangeOf(heap.idleOwnMb, 1)],
    ['after load', rangeOf(heap.afterLoadMb, 1)],
    ['scavenges', String(heap.scavenges)],
    ['p99 ms', rangeOf(heap.scavengeP99Ms, 2)],
    ['p99 ms, first 6 s', rangeOf(heap.coldScavengeP99Ms, 2)],
    ['longest ms', rangeOf(heap.scavengeMaxMs, 2)],
    ['other collections, ms', rangeOf(heap.otherMs, 0)],
  ]);
