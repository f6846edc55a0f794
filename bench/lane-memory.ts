// Measures the memory of the built sidecar with four egress lanes in use, and without lanes. Both serve the same requests to their
// agent; with lanes, each request is accompanied by a call on every lane, half of them streams.
// node bench/lane-memory.ts --requests 2000 [--json]
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { TestServers } from '../testing/sockets.ts';
import { issueCa, issueLeaf } from '../webhook/certificates/issue.ts';
import { LANE_SCENARIOS } from './lane-scenarios.ts';
import { integerUpTo } from './options.ts';
import { residentMb, startNode, type Started } from './processes.ts';

const SIDECAR = 'dist/sidecar/main.js';
/** The bar: megabytes that lanes in use may add. */
const MAX_ADDED_MB = 15;
const LANES = ['openai', 'groq', 'mistral', 'compatible:corp'] as const;
const AT_A_TIME = 8;
/**
 * Old objects of both processes are collected, and freed pages returned, before their memory is read. V8 does that about ten seconds
 * after the load. Until then, the process with the larger load still has a young generation of 16 MB.
 */
const REST_MS = 20_000;

const MANIFEST = JSON.stringify({
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'Helps customers.' },
  spec: {
    model: { provider: 'openai', id: 'gpt-5', apiKey: '$env:OPENAI_API_KEY' },
    tools: [{ name: 'search-orders' }, { name: 'refund' }],
  },
});

interface Result {
  requests: number;
  lanes: number;
  withoutMb: number;
  withMb: number;
  addedMb: number;
  bar: number;
}

const freePort = (): Promise<number> => new TestServers().closedPort();

interface Sidecar extends Started {
  proxy: number;
  lanes: number;
}

async function startSidecar(env: Record<string, string>): Promise<Sidecar> {
  const [proxy, lanes] = [await freePort(), await freePort()];
  const process = await startNode(SIDECAR, proxy, {
    ...{ BIND_ADDRESS: '127.0.0.1', PROXY_PORT: String(proxy), CONTROL_PLANE_PORT: String(await freePort()) },
    ...{
      OPENAI_API_KEY: 'unused',
      POLICY_ENGINE: 'builtin',
      POLICY_PROXY_MODE: 'enforce',
      LOG_LEVEL: 'error',
    },
    // As the chart sets it for a container with 128 MiB.
    NODE_OPTIONS: '--max-old-space-size=64 --max-semi-space-size=8',
    EGRESS_PORT: String(lanes),
    ...env,
  });
  return { ...process, proxy, lanes };
}

const connections = new Agent({ connections: AT_A_TIME });

async function send(url: string, body?: string): Promise<void> {
  const response = await request(url, {
    dispatcher: connections,
    ...(body !== undefined && { method: 'POST', body, headers: { 'content-type': 'application/json' } }),
  });
  await response.body.dump();
  if (response.statusCode !== 200) throw new Error(`${url} returned ${response.statusCode}`);
}

/** The same number of requests to the agent; `hasLanes`: each with a call on every lane. */
async function use({ proxy, lanes }: Sidecar, requests: number, hasLanes: boolean): Promise<void> {
  let left = requests;
  const client = async (): Promise<void> => {
    for (let index = left--; index > 0; index = left--) {
      await send(`http://127.0.0.1:${proxy}/`);
      for (const lane of hasLanes ? LANES : []) {
        const scenario = LANE_SCENARIOS[index % LANE_SCENARIOS.length];
        if (scenario !== undefined)
          await send(`http://127.0.0.1:${lanes}/${lane.replace(':', '/')}${scenario.path}`, scenario.body);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, client));
}

async function measure(requests: number): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-lane-memory-'));
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const agent = createServer((_request, response) => void response.end('{}')).listen(0, '127.0.0.1');
  const started: Started[] = [];
  try {
    await once(agent, 'listening');
    const address = agent.address();
    const upstreamUrl = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
    const validity = { now: new Date(), days: 2 };
    const ca = await issueCa(validity);
    const leaf = await issueLeaf(ca, ['127.0.0.1'], validity);
    const vendorPort = await freePort();
    const files = { TLS_CERT: file('cert.pem', leaf.cert), TLS_KEY: file('key.pem', leaf.key) };
    const vendor = join(import.meta.dirname, 'servers', 'agent.ts');
    started.push(await startNode(vendor, vendorPort, { PORT: String(vendorPort), ...files }));
    const common = { UPSTREAM_URL: upstreamUrl, MANIFEST_PATH: file('agent.yaml', MANIFEST) };
    const plain = await startSidecar(common);
    started.push(plain);
    const withLanes = await startSidecar({
      ...common,
      EGRESS_LANES: LANES.map((lane) => `${lane}=https://127.0.0.1:${vendorPort}`).join(','),
      EGRESS_CA_FILE: file('ca.pem', ca.cert),
    });
    started.push(withLanes);
    await use(plain, requests, false);
    await use(withLanes, requests, true);
    await sleep(REST_MS);
    const [withoutMb, withMb] = [residentMb(plain.pid), residentMb(withLanes.pid)];
    return {
      requests,
      lanes: LANES.length,
      withoutMb,
      withMb,
      addedMb: withMb - withoutMb,
      bar: MAX_ADDED_MB,
    };
  } finally {
    await connections.destroy();
    for (const each of started.toReversed()) await each.close();
    agent.close();
    await rm(directory, { recursive: true });
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { requests: { type: 'string', default: '2000' }, json: { type: 'boolean', default: false } },
  });
  const requests = integerUpTo('--requests', values.requests, 1_000_000);
  if (!existsSync(SIDECAR)) throw new Error(`${SIDECAR} does not exist; run make build`);
  const result = await measure(requests);
  const { lanes, withoutMb, withMb, addedMb, bar } = result;
  const text = `${requests} requests: ${withoutMb.toFixed(1)} MB without lanes, ${withMb.toFixed(1)} MB with ${lanes} lanes in use: ${addedMb.toFixed(1)} MB more; the bar is ${bar} MB`;
  console.log(values.json ? JSON.stringify(result) : text);
  return addedMb <= bar ? 0 : 1;
}

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`the benchmark cannot run: ${(error as Error).message}\n`);
  return 1;
});
