// Sends POST requests without a pause, each worker one at a time, until SIGTERM; then each ends the one under way, and sends one
// more. Prints JSON lines of the same shape when every worker has had an answer and all of them MANY, and at the end. Nothing
// is sent twice.
//   steady-client.ts URL WORKERS reuse|fresh
import { Agent, request } from 'node:http';

const [url = '', workers = '8', connections = 'reuse'] = process.argv.slice(2);
/** Every second worker's requests take two seconds, the others' a fifth of one. */
const LONG_MS = 2_000;
const SHORT_MS = 200;

/** A worker's share of the answers before the beginning is told: more than the connections that there will be. */
const MANY = 10;

/** Requests by what they were answered. */
const answers: Record<string, number> = {};
const failures: string[] = [];
let sockets = 0;
let isOver = false;
const startedAt = performance.now();

function ask(agent: Agent, ms: number): Promise<void> {
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

let isTold = false;
let started = 0;
function tell(): void {
  const sum = Object.values(answers).reduce((all, count) => all + count, 0);
  if (isTold || started < agents.length || sum < MANY * agents.length) return;
  isTold = true;
  report();
}

async function work(agent: Agent, ms: number): Promise<void> {
  await ask(agent, ms);
  started += 1;
  for (let isLast = false; !isLast;) {
    isLast = isOver;
    await ask(agent, ms);
    tell();
  }
  agent.destroy();
}

process.once('SIGTERM', () => {
  isOver = true;
});
await Promise.all(agents.map((agent, worker) => work(agent, msOf(worker))));
report();
