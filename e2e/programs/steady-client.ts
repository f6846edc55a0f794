// Sends POST requests continuously, one at a time per worker, until SIGTERM. Then each worker finishes its request and sends one
// more. Prints a JSON line once every worker has had a response and the total is MANY per worker, and a JSON line at the end.
// Requests are never retried.
//   steady-client.ts URL WORKERS reuse|fresh
import { Agent, request } from 'node:http';

const [url = '', workers = '8', connections = 'reuse'] = process.argv.slice(2);
/** Requests of every second worker take two seconds, other requests 200 ms. */
const LONG_MS = 2_000;
const SHORT_MS = 200;

/** Average responses per worker before the first report: more than the number of connections. */
const MANY = 10;

/** Number of requests by response text. */
const answers: Record<string, number> = {};
const failures: string[] = [];
let sockets = 0;
let isStopping = false;
const startedAt = performance.now();

function send(agent: Agent, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const fail = (what: string): void => {
      failures.push(`${Math.round(performance.now() - startedAt)} ms: ${what}`);
      resolve();
    };
    const outgoing = request(`${url}/work?ms=${ms}`, { agent, method: 'POST' }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('error', (error) => fail(`cut: ${error.message}`));
      answer.on('end', () => {
        if (answer.statusCode === 200) {
          answers[text] = (answers[text] ?? 0) + 1;
          resolve();
        } else fail(`${answer.statusCode} ${text}`);
      });
    });
    outgoing.on('error', (error) => fail(`${error.message}, reused: ${outgoing.reusedSocket}`));
    outgoing.on('socket', () => (sockets += outgoing.reusedSocket ? 0 : 1));
    outgoing.end('a body');
  });
}

const agents = Array.from(
  { length: Number(workers) },
  () => new Agent({ keepAlive: connections === 'reuse', maxSockets: 1 }),
);
const msOf = (worker: number): number => (worker % 2 === 0 ? LONG_MS : SHORT_MS);
const report = (): void => {
  const shown = { answers, failed: failures.length, failures: failures.slice(0, 5), connections: sockets };
  process.stdout.write(`${JSON.stringify(shown)}\n`);
};

let isReported = false;
let started = 0;
function reportOnce(): void {
  const sum = Object.values(answers).reduce((all, count) => all + count, 0);
  if (isReported || started < agents.length || sum < MANY * agents.length) return;
  isReported = true;
  report();
}

async function work(agent: Agent, ms: number): Promise<void> {
  await send(agent, ms);
  started += 1;
  for (let isLast = false; !isLast;) {
    isLast = isStopping;
    await send(agent, ms);
    reportOnce();
  }
  agent.destroy();
}

process.once('SIGTERM', () => {
  isStopping = true;
});
await Promise.all(agents.map((agent, worker) => work(agent, msOf(worker))));
report();
