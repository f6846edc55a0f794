// One client per kind of connections, reused or new ones. Each sends POST requests continuously, one at a time per worker, until
// SIGTERM. Then each worker finishes its request and sends one more. Prints a JSON line with the results by kind once every worker
// has had a response and the total of each client is MANY per worker, and a JSON line at the end.
// Requests are never retried.
//   steady-client.ts URL WORKERS reuse|fresh|reuse,fresh
import { Agent, request } from 'node:http';

const [url = '', workers = '8', kinds = 'reuse'] = process.argv.slice(2);
/** Requests of every second worker take two seconds; other requests, and the last request of each worker, take 200 ms. */
const LONG_MS = 2_000;
const SHORT_MS = 200;

/** Average responses per worker before the first report: more than the number of connections. */
const MANY = 10;

interface Client {
  /** Number of requests by response text. */
  answers: Record<string, number>;
  failures: string[];
  sockets: number;
  /** Workers that have had a response. */
  started: number;
  agents: Agent[];
}

let isStopping = false;
const startedAt = performance.now();

const clientOf = (kind: string): Client => {
  const options = { keepAlive: kind === 'reuse', maxSockets: 1 };
  const agents = Array.from({ length: Number(workers) }, () => new Agent(options));
  return { answers: {}, failures: [], sockets: 0, started: 0, agents };
};
const clients = new Map(kinds.split(',').map((kind) => [kind, clientOf(kind)]));

function send(client: Client, agent: Agent, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const fail = (what: string): void => {
      client.failures.push(`${Math.round(performance.now() - startedAt)} ms: ${what}`);
      resolve();
    };
    const outgoing = request(`${url}/work?ms=${ms}`, { agent, method: 'POST' }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('error', (error) => fail(`cut: ${error.message}`));
      answer.on('end', () => {
        if (answer.statusCode === 200) {
          client.answers[text] = (client.answers[text] ?? 0) + 1;
          resolve();
        } else fail(`${answer.statusCode} ${text}`);
      });
    });
    outgoing.on('error', (error) => fail(`${error.message}, reused: ${outgoing.reusedSocket}`));
    outgoing.on('socket', () => (client.sockets += outgoing.reusedSocket ? 0 : 1));
    outgoing.end('a body');
  });
}

const msOf = (worker: number): number => (worker % 2 === 0 ? LONG_MS : SHORT_MS);
const report = (): void => {
  const shown = [...clients].map(([kind, { answers, failures, sockets }]) => [
    kind,
    { answers, failed: failures.length, failures: failures.slice(0, 5), connections: sockets },
  ]);
  process.stdout.write(`${JSON.stringify(Object.fromEntries(shown))}\n`);
};

const hasMany = ({ answers, started, agents }: Client): boolean => {
  const sum = Object.values(answers).reduce((all, count) => all + count, 0);
  return started === agents.length && sum >= MANY * agents.length;
};
let isReported = false;
function reportOnce(): void {
  if (isReported || ![...clients.values()].every(hasMany)) return;
  isReported = true;
  report();
}

async function work(client: Client, agent: Agent, ms: number): Promise<void> {
  await send(client, agent, ms);
  client.started += 1;
  for (let isLast = false; !isLast;) {
    isLast = isStopping;
    await send(client, agent, isLast ? SHORT_MS : ms);
    reportOnce();
  }
  agent.destroy();
}

process.once('SIGTERM', () => {
  isStopping = true;
});
await Promise.all(
  [...clients.values()].flatMap((client) =>
    client.agents.map((agent, worker) => work(client, agent, msOf(worker))),
  ),
);
report();
