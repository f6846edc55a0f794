// Measures an egress lane of the built sidecar against a bare TLS forwarder on undici, in front of the same vendor: requests per
// processor time, in rounds of both. npm run bench:lanes -- --rounds 10 --seconds 2
import { existsSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { whyNoDebianServers } from '../testing/debian-server.ts';
import { TestServers } from '../testing/sockets.ts';
import { issueCa, issueLeaf } from '../webhook/certificates/issue.ts';
import { LANE_SCENARIOS } from './lane-scenarios.ts';
import { check, load, type Load } from './load.ts';
import { integerUpTo } from './options.ts';
import { cpuMs, pin, residentMb, startNode, type Started } from './processes.ts';
import { renderTable, rowsOf, type Measurement } from './report.ts';

const SIDECAR = 'dist/sidecar/main.js';
const BASELINE = 'bare forwarder';
/** The bar of the lane: requests per processor time as a share of the forwarder's. */
const MIN_RATIO = 0.85;
const [CONNECTIONS, WARM_UP_LOADS] = [32, 5];

/** Declares what the requests contain, so that every rule is evaluated and none denies. */
const MANIFEST = JSON.stringify({
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'Helps customers.' },
  spec: {
    model: {
      ...{ provider: 'openai', id: 'gpt-5', apiKey: '$env:OPENAI_API_KEY' },
      costControls: { maxTokensPerDay: 1_000_000_000_000 },
    },
    tools: [{ name: 'search-orders' }, { name: 'refund', annotations: { destructiveHint: true } }],
  },
});

type Target = Started & { name: string; port: number };

const log = (line: string): void => void process.stderr.write(`${line}\n`);
const freePort = (): Promise<number> => new TestServers().closedPort();
const server = (name: string): string => join(import.meta.dirname, 'servers', name);

/** The vendor and the two targets. `started` gets each process as soon as it runs. */
async function startTargets(directory: string, started: Started[]): Promise<Target[]> {
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const validity = { now: new Date(), days: 2 };
  const ca = await issueCa(validity);
  const leaf = await issueLeaf(ca, ['127.0.0.1'], validity);
  const [vendorPort, barePort, lanePort] = [await freePort(), await freePort(), await freePort()];
  const caFile = file('ca.pem', ca.cert);
  const upstream = `https://127.0.0.1:${vendorPort}`;
  const vendor = await startNode(server('tls-vendor.ts'), vendorPort, {
    ...{
      PORT: String(vendorPort),
      TLS_CERT: file('cert.pem', leaf.cert),
      TLS_KEY: file('key.pem', leaf.key),
    },
  });
  started.push(vendor);
  pin(vendor.pid, 'others');
  const bare = await startNode(server('bare-tls-forwarder.ts'), barePort, {
    ...{ PORT: String(barePort), UPSTREAM_URL: upstream, CA_FILE: caFile },
  });
  started.push(bare);
  const lane = await startNode(SIDECAR, lanePort, {
    ...{ UPSTREAM_URL: `http://127.0.0.1:${await freePort()}`, MANIFEST_PATH: file('agent.yaml', MANIFEST) },
    ...{ BIND_ADDRESS: '127.0.0.1', PROXY_PORT: String(await freePort()), OPENAI_API_KEY: 'unused' },
    ...{
      CONTROL_PLANE_PORT: String(await freePort()),
      POLICY_PROXY_MODE: 'enforce',
      POLICY_ENGINE: 'builtin',
    },
    ...{ EGRESS_LANES: `openai=${upstream}`, EGRESS_PORT: String(lanePort), EGRESS_CA_FILE: caFile },
    LOG_LEVEL: 'error',
  });
  started.push(lane);
  for (const { pid } of [bare, lane]) pin(pid, 'target');
  return [
    { ...bare, name: BASELINE, port: barePort },
    { ...lane, name: 'lane', port: lanePort },
  ];
}

async function measure(
  targets: readonly Target[],
  { rounds, seconds, directory }: { rounds: number; seconds: number; directory: string },
): Promise<Measurement[]> {
  const measured: Measurement[] = [];
  const options = { connections: CONNECTIONS, directory };
  for (let round = 0; round <= rounds; round++) {
    log(round === 0 ? 'warm-up' : `round ${round} of ${rounds}`);
    for (const scenario of LANE_SCENARIOS)
      // Each target is the first one in every second round.
      for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
        const workload: Load = { port: target.port, prefix: 'openai', scenario };
        await check(workload);
        if (round === 0) {
          for (let loads = 0; loads < WARM_UP_LOADS; loads++)
            await load(workload, { ...options, seconds: 1 });
          continue;
        }
        const before = cpuMs(target.pid);
        const { requests, seconds: took, p50Ms, p99Ms } = await load(workload, { ...options, seconds });
        const cpuUs = ((cpuMs(target.pid) - before) * 1000) / requests;
        await check(workload);
        const speed = { perSecond: requests / took, p50Ms, p99Ms, cpuUs };
        measured.push({ target: target.name, scenario: scenario.name, round, ...speed });
      }
  }
  return measured;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '2' } },
  });
  const rounds = integerUpTo('--rounds', values.rounds, 100);
  const seconds = integerUpTo('--seconds', values.seconds, 60);
  const missing = existsSync(SIDECAR) ? whyNoDebianServers() : `${SIDECAR} does not exist; run make build`;
  if (missing !== undefined) {
    log(`the benchmark cannot run: ${missing}`);
    return 1;
  }
  const directory = await mkdtemp(join(tmpdir(), 'bench-lanes-'));
  const started: Started[] = [];
  try {
    const targets = await startTargets(directory, started);
    const idle = targets.map(({ pid }) => residentMb(pid));
    const rows = rowsOf(await measure(targets, { rounds, seconds, directory }), BASELINE);
    console.log(renderTable(rows, BASELINE));
    console.log('\nmemory, MB (idle, after load)');
    for (const [index, { name, pid }] of targets.entries())
      console.log(`${name}  ${(idle[index] ?? NaN).toFixed(0)}  ${residentMb(pid).toFixed(0)}`);
    const slow = rows.filter(({ target, cpuRatio }) => target !== BASELINE && cpuRatio.median < MIN_RATIO);
    for (const { scenario, cpuRatio } of slow)
      log(
        `${scenario}: ${cpuRatio.median.toFixed(2)} of the forwarder's requests per processor time; the bar is ${MIN_RATIO}`,
      );
    return slow.length === 0 ? 0 : 1;
  } finally {
    for (const each of started.toReversed()) await each.close();
    await rm(directory, { recursive: true });
  }
}

process.exitCode = await main().catch((error: unknown) => {
  log((error as Error).message);
  return 1;
});
