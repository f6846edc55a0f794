// Sends requests at a constant rate and prints one line of JSON. The rate does not depend on the responses, and each latency counts
// from the time at which the request was due: a target that stops for a while delays all requests of that time, and each of them counts.
//   node bench/open-loop.ts '{"port":4000,"request":"GET / HTTP/1.1\r\n…","bodyBytes":120,"rate":1000,"seconds":4,"warmUpSeconds":1}'
import { connect, type Socket } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { quantile } from './report.ts';

export interface OpenLoop {
  port: number;
  /** The whole request in latin1. */
  request: string;
  /** Bytes of the body of the only correct response, which has a Content-Length. */
  bodyBytes: number;
  /** Requests per second. */
  rate: number;
  seconds: number;
  /** Seconds before those, which are not counted: connections are opened, and the target adapts to the rate. */
  warmUpSeconds: number;
}

export interface OpenLoopResult {
  requests: number;
  p50Ms: number;
  p99Ms: number;
  /** 99th percentile of the delay of this generator, which is a part of the latencies. */
  lateP99Ms: number;
}

const NS_PER_MS = 1e6;
const nowMs = (): number => Number(process.hrtime.bigint()) / NS_PER_MS;

interface Schedule {
  startMs: number;
  intervalMs: number;
  count: number;
}

/** Posts the number of requests that are due. Runs in its own thread: a timer of the event loop is up to 1 ms late, this wait is not. */
function keepTime({ startMs, intervalMs, count }: Schedule): void {
  const never = new Int32Array(new SharedArrayBuffer(4));
  for (let due = 0; due < count;) {
    const wait = startMs + due * intervalMs - nowMs();
    if (wait > 0) Atomics.wait(never, 0, 0, wait);
    due = Math.min(count, Math.floor((nowMs() - startMs) / intervalMs) + 1);
    parentPort?.postMessage(due);
  }
}

/** One keep-alive connection with one request at a time. */
class Connection {
  readonly #socket: Socket;
  readonly #request: Buffer;
  readonly #bodyBytes: number;
  #received = '';
  #onResponse: (() => void) | null = null;

  constructor({ port, request, bodyBytes }: OpenLoop, onError: (error: Error) => void) {
    this.#request = Buffer.from(request, 'latin1');
    this.#bodyBytes = bodyBytes;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1').on('error', onError);
    this.#socket.on('data', (text: string) => {
      try {
        this.#read(text);
      } catch (error) {
        onError(error as Error);
      }
    });
    this.#socket.on('end', () => onError(new Error('the target closed a connection')));
  }

  send(onResponse: () => void): void {
    this.#onResponse = onResponse;
    this.#socket.write(this.#request);
  }

  #read(text: string): void {
    this.#received += text;
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return;
    const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(this.#received.slice(0, end + 2)) ?? [];
    if (!this.#received.startsWith('HTTP/1.1 200 ') || Number(length) !== this.#bodyBytes)
      throw new Error(`unexpected response: ${this.#received.slice(0, 200)}`);
    const missing = end + 4 + this.#bodyBytes - this.#received.length;
    if (missing > 0) return;
    if (missing < 0) throw new Error('bytes after a response');
    this.#received = '';
    const done = this.#onResponse;
    this.#onResponse = null;
    if (done === null) throw new Error('a response without a request');
    done();
  }

  close(): void {
    this.#socket.destroy();
  }
}

const CONNECTIONS = 16;
/** Until the first request is due: the thread has to start, and connections are opened. */
const LEAD_MS = 300;
const GIVE_UP_MS = 20_000;

async function run(options: OpenLoop): Promise<OpenLoopResult> {
  const { rate, seconds, warmUpSeconds } = options;
  const count = rate * (warmUpSeconds + seconds);
  const schedule = { startMs: nowMs() + LEAD_MS, intervalMs: 1000 / rate, count };
  let received = 0;
  const latencies: number[] = [];
  const late: number[] = [];
  const all: Connection[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      const open = (): Connection => {
        const connection = new Connection(options, reject);
        all.push(connection);
        return connection;
      };
      const idle = Array.from({ length: CONNECTIONS }, open);
      let sent = 0;
      const sendUntil = (due: number): void => {
        for (; sent < due; sent++) {
          const dueMs = schedule.startMs + sent * schedule.intervalMs;
          const connection = idle.pop() ?? open();
          const isCounted = sent >= rate * warmUpSeconds;
          if (isCounted) late.push(nowMs() - dueMs);
          connection.send(() => {
            if (isCounted) latencies.push(nowMs() - dueMs);
            idle.push(connection);
            received += 1;
            if (received === count) resolve();
          });
        }
      };
      const clock = new Worker(new URL(import.meta.url), { workerData: schedule });
      clock.on('message', sendUntil).once('error', reject);
      setTimeout(
        () => reject(new Error(`${count - received} requests have no response`)),
        LEAD_MS + (warmUpSeconds + seconds) * 1000 + GIVE_UP_MS,
      ).unref();
    });
  } finally {
    for (const connection of all) connection.close();
  }
  return {
    requests: latencies.length,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    lateP99Ms: quantile(late, 0.99),
  };
}

if (isMainThread) {
  const result = await run(JSON.parse(process.argv[2] ?? '') as OpenLoop);
  console.log(JSON.stringify(result));
} else keepTime(workerData as Schedule);
