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
  responses: Record<string, number>;
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
  return { responses: {}, failures: [], sockets: 0, started: 0, agents };
};
const clients = new Map(kinds.split(',').map((kind) => [kind, clientOf(kind)]));

function send(client: Client, agent: Agent, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const fail = (what: string): void => {
      client.failures.push(`${Math.round(performance.now() - startedAt)} ms: ${what}`);
      resolve();
    };
    const outgoing = request(`${url}/work?ms=${ms}`, { agent, method: 'POST' }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', (error) => fail(`cut: ${error.message}`));
      response.on('end', () => {
        if (response.statusCode === 200) {
          client.responses[text] = (client.responses[text] ?? 0) + 1;
          resolve();
        } else fail(`${response.statusCode} ${text}`);
      });
    });
    outgoing.on('error', (error) => fail(`${error.message}, reused: ${outgoing.reusedSocket}`));
    outgoing.on('socket', () => (client.sockets += outgoing.reusedSocket ? 0 : 1));
    outgoing.end('a body');
  });
}

const msOf = (worker: number): number => (worker % 2 === 0 ? LONG_MS : SHORT_MS);
const report = (): void => {
  const shown = [...clients].map(([kind, { responses, failures, sockets }]) => [
    kind,
    { responses, failed: failures.length, failures: failures.slice(0, 5), connections: sockets },
  ]);
  process.stdout.write(`${JSON.stringify(Object.fromEntries(shown))}\n`);
};

const hasMany = ({ responses, started, agents }: Client): boolean => {
  const sum = Object.values(responses).reduce((all, count) => all + count, 0);
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
