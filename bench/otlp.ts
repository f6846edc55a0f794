// Measures what the OTLP receiver of the sidecar costs: 1,000 spans of 1 kB per second, in batches of 100, for a minute. Requests
// to the agent and hostile exports are sent meanwhile. Exits with 1 if a limit is exceeded. `make soak` runs it.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { freePorts } from '../examples/demo/free-ports.ts';
import { diceOf } from '../testing/dice.ts';
import {
  exportOf,
  protobufExport,
  spanFields,
  spanIdOf,
  wire,
  type TestSpan,
} from '../testing/otlp-export.ts';
import { SEED } from '../testing/seed.ts';
import { cpuMs, pin, residentMb, startNode, type Started } from './processes.ts';
import { CHART_HEAP, startAgent } from './targets.ts';

const SPANS_PER_BATCH = 100;
const BATCHES_PER_SECOND = 10;
const SPAN_BYTES = 1024;
/** Seconds before the measurement, in which the code is compiled. */
const WARM_UP_SECONDS = 5;
/** Requests to the agent before everything else, and how many are sent at a time. */
const [WARM_UP_REQUESTS, WARM_UP_CLIENTS] = [4_000, 8] as const;
const CHAT_PATH = '/headers/v1/chat/completions';

/** The limits. */
const OTLP_LIMITS = { cores: 0.15, megabytes: 20 } as const;

interface OtlpReport {
  spans: number;
  /** Processor time of the sidecar divided by the time of the measurement. */
  cores: number;
  /** Resident memory after requests to the agent, without spans. */
  before: number;
  /** Maximum resident memory during the load, above `before`. */
  megabytes: number;
  /** Responses other than the expected ones, by what was sent. */
  unexpected: string[];
}

const MANIFEST = JSON.stringify({
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'bench', version: '1.0.0', description: 'benchmark' },
  spec: { model: { provider: 'openai', id: 'gpt-5', apiKey: '$env:OPENAI_API_KEY' } },
});

interface Rig {
  sidecar: Started;
  proxyPort: number;
  otlpPort: number;
  close(): Promise<void>;
}

async function startRig(): Promise<Rig> {
  const directory = await mkdtemp(join(tmpdir(), 'otlp-'));
  const manifest = join(directory, 'agent.yaml');
  await writeFile(manifest, MANIFEST);
  const agent = await startAgent();
  const [proxyPort = 0, controlPort = 0, otlpPort = 0] = await freePorts(3);
  const sidecar = await startNode('dist/sidecar/main.js', otlpPort, {
    ...{ UPSTREAM_URL: `http://127.0.0.1:${agent.port}`, MANIFEST_PATH: manifest, BIND_ADDRESS: '127.0.0.1' },
    ...{
      PROXY_PORT: String(proxyPort),
      CONTROL_PLANE_PORT: String(controlPort),
      OTLP_PORT: String(otlpPort),
    },
    ...{ OPENAI_API_KEY: 'unused', POLICY_ENGINE: 'builtin' },
    ...CHART_HEAP,
  });
  pin(sidecar.pid, 'target');
  pin(agent.pid, 'others');
  const close = async (): Promise<void> => {
    await sidecar.close();
    await agent.close();
    await rm(directory, { recursive: true });
  };
  return { sidecar, proxyPort, otlpPort, close };
}

const connections = new Agent({ keepAlive: true });

/** Sends a POST and returns the status; 0: the connection failed. */
function post(
  port: number,
  path: string,
  body: Buffer,
  headers: Record<string, string> = {},
): Promise<number> {
  const options = { host: '127.0.0.1', port, path, method: 'POST', agent: connections, headers };
  return new Promise((resolve) => {
    const onResponse = (response: IncomingMessage): void => {
      text(response).then(
        () => resolve(response.statusCode ?? 0),
        () => resolve(0),
      );
    };
    request(options, onResponse)
      .on('error', () => resolve(0))
      .end(body);
  });
}

/** The spans of an agent: in each trace a model call, a tool and a span without evidence. */
function batchOf(index: number): Buffer {
  const spans = Array.from({ length: SPANS_PER_BATCH }, (_, position): TestSpan => {
    const traceId = (1 + index * SPANS_PER_BATCH + position - (position % 3)).toString(16).padStart(32, '0');
    const parent = position - (position % 3);
    return {
      ...{ traceId, spanId: spanIdOf(position + 1), name: 'chat gpt-5', startMs: 1_767_225_600_000 },
      ...(position > parent && { parentSpanId: spanIdOf(parent + 1) }),
      attributes: ATTRIBUTES[position % 3] ?? {},
    };
  });
  return protobufExport(spans);
}

const TEXT = 'gen_ai.input.messages';
const withText = (attributes: TestSpan['attributes']): TestSpan['attributes'] => {
  const bytes = protobufExport([{ spanId: spanIdOf(1), attributes: { ...attributes, [TEXT]: '' } }]).length;
  return { ...attributes, [TEXT]: 'x'.repeat(Math.max(0, SPAN_BYTES - bytes)) };
};
const ATTRIBUTES = [
  withText({ 'http.request.method': 'POST', 'http.route': '/v1/chat', 'http.response.status_code': 200 }),
  withText({
    ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-5' },
    ...{ 'gen_ai.response.model': 'gpt-5-2026-01-01', 'gen_ai.request.temperature': 0.5 },
    ...{
      'gen_ai.usage.input_tokens': 31,
      'gen_ai.usage.output_tokens': 5,
      'server.address': 'api.openai.com',
    },
  }),
  withText({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'search',
    'gen_ai.tool.type': 'function',
  }),
];

const PROTOBUF = { 'content-type': 'application/x-protobuf' };
const GZIP = { ...PROTOBUF, 'content-encoding': 'gzip' };

/** Exports that are not valid, with the status of the response. */
function hostileExports(
  dice: () => number,
): [name: string, body: Buffer, headers: Record<string, string>, status: number][] {
  const noise = Buffer.from(Array.from({ length: 1_000 }, () => Math.floor(dice() * 256)));
  const valid = batchOf(0);
  return [
    ['random bytes', Buffer.concat([Buffer.from([0x0b]), noise]), PROTOBUF, 400],
    [
      'an export that is cut off',
      valid.subarray(0, Math.floor(1 + dice() * (valid.length - 2))),
      PROTOBUF,
      400,
    ],
    ['nested values', NESTED, PROTOBUF, 400],
    ['JSON that is not valid', Buffer.from('['.repeat(100_000)), { 'content-type': 'application/json' }, 400],
    ['bytes that are not gzip', noise, GZIP, 400],
    ['a body of 5 MB after gzip', gzipSync(Buffer.alloc(5_000_000)), GZIP, 413],
  ];
}

/** A span whose attribute has lists in each other. */
function nestedExport(levels: number): Buffer {
  let value = wire.bytes(1, 'x');
  for (let level = 0; level < levels; level += 1) value = wire.message(5, wire.message(1, value));
  const span = spanFields({ spanId: spanIdOf(1) });
  return exportOf([...span, wire.message(9, wire.bytes(1, 'key'), wire.message(2, value))]);
}
const NESTED = nestedExport(1_000);

/** Collects the responses that were not expected. */
class Expectations {
  readonly unexpected: string[] = [];
  readonly #open: Promise<void>[] = [];

  add(what: string, wanted: number, status: Promise<number>): Promise<void> {
    const checked = status.then((got) => void (got === wanted || this.unexpected.push(`${what}: ${got}`)));
    this.#open.push(checked);
    return checked;
  }

  async all(): Promise<void> {
    await Promise.all(this.#open);
  }
}

const QUESTION = Buffer.from(
  JSON.stringify({ model: 'gpt-5', messages: [{ role: 'user', content: 'x'.repeat(2_000) }] }),
);
const ask = ({ proxyPort }: Rig): Promise<number> => post(proxyPort, CHAT_PATH, QUESTION);

/** Sends requests to the agent, so that the memory of a sidecar in use is compared, not that of a new process. */
async function warmUp(rig: Rig, expectations: Expectations): Promise<void> {
  const client = async (): Promise<void> => {
    for (let count = 0; count < WARM_UP_REQUESTS / WARM_UP_CLIENTS; count += 1)
      await expectations.add('a request to the agent', 200, ask(rig));
  };
  await Promise.all(Array.from({ length: WARM_UP_CLIENTS }, client));
}

/** Sends the batches with these numbers, with a request to the agent after each of them, and all hostile exports every second. */
async function load(
  rig: Rig,
  expectations: Expectations,
  [first, end]: readonly [number, number],
): Promise<void> {
  const dice = diceOf(SEED);
  const begin = performance.now();
  for (let batch = first; batch < end; batch += 1) {
    const due = begin + (1_000 * (batch - first)) / BATCHES_PER_SECOND;
    await sleep(Math.max(0, due - performance.now()));
    void expectations.add(
      'a batch of spans',
      200,
      post(rig.otlpPort, '/v1/traces', batchOf(batch), PROTOBUF),
    );
    void expectations.add('a request to the agent', 200, ask(rig));
    if (batch % BATCHES_PER_SECOND === 0)
      for (const [what, body, headers, status] of hostileExports(dice))
        void expectations.add(what, status, post(rig.otlpPort, '/v1/traces', body, headers));
  }
  await expectations.all();
}

/** Measures the receiver for `seconds`. */
async function measureOtlp(seconds: number): Promise<OtlpReport> {
  const rig = await startRig();
  const expectations = new Expectations();
  try {
    const { pid } = rig.sidecar;
    await warmUp(rig, expectations);
    const before = residentMb(pid);
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, residentMb(pid))), 250);
    const first = WARM_UP_SECONDS * BATCHES_PER_SECOND;
    await load(rig, expectations, [0, first]);
    const [cpuBefore, begin] = [cpuMs(pid), performance.now()];
    await load(rig, expectations, [first, first + seconds * BATCHES_PER_SECOND]);
    const cores = (cpuMs(pid) - cpuBefore) / (performance.now() - begin);
    clearInterval(watch);
    const spans = seconds * BATCHES_PER_SECOND * SPANS_PER_BATCH;
    return { spans, cores, before, megabytes: most - before, unexpected: expectations.unexpected };
  } finally {
    connections.destroy();
    await rig.close();
  }
}

/** Runs the measurement, prints it, and returns whether all limits are kept. */
export async function checkOtlp(seconds: number): Promise<boolean> {
  const { spans, cores, before, megabytes, unexpected } = await measureOtlp(seconds);
  console.log(
    `OTLP receiver: ${spans} spans of 1 kB in ${seconds} s: ${cores.toFixed(3)} cores (limit ${OTLP_LIMITS.cores}), ` +
      `${megabytes.toFixed(1)} MB above ${before.toFixed(0)} MB (limit ${OTLP_LIMITS.megabytes})`,
  );
  for (const each of unexpected.slice(0, 10)) console.error(`unexpected response to ${each}`);
  return cores <= OTLP_LIMITS.cores && megabytes <= OTLP_LIMITS.megabytes && unexpected.length === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } });
  if (!(await checkOtlp(Number(values.seconds)))) process.exitCode = 1;
}
