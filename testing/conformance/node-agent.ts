// The agent of the conformance suites with the reporter for Node.js. `python_agent.py` does the same.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  createReporter,
  type BehavioralEvent,
  type PolicyFacts,
  type Reporter,
  type RequestBehavior,
} from '../../reporter/index.ts';

const { MANIFEST = '', ENGINE_URL = '', REFRESH_MS = '30000' } = process.env;
const tools = ['search', 'refund order, ä'];
const log =
  (level: string) =>
  (message: string, fields: object = {}): void =>
    void process.stderr.write(`${level} ${message} ${JSON.stringify(fields)}\n`);
const reporter = createReporter({
  manifest: MANIFEST,
  tools,
  refreshIntervalMs: Number(REFRESH_MS),
  logger: { warn: log('WARNING'), info: log('INFO'), debug: log('DEBUG') },
});
const remote = createReporter({ manifest: MANIFEST, tools, policy: { url: ENGINE_URL, failClosed: true } });

type Operation = readonly [name: string, ...values: unknown[]];

/** Executes the operations of a case, and responds with their results. */
async function act(request: IncomingMessage, response: ServerResponse, by: Reporter): Promise<void> {
  const operations = JSON.parse(await text(request)) as Operation[];
  let behavior: RequestBehavior | null = null;
  const results: unknown[] = [];
  for (const [name, ...values] of operations) {
    if (name === 'head') response.writeHead(200, { 'content-type': 'application/json' }).write(' ');
    else if (name === 'checkPolicy') results.push(await stateOf(by, values[0] as PolicyFacts));
    else if (name === 'recordUsage') results.push(by.recordUsage(...(values as [string, number, number])));
    else if (name === 'send')
      results.push(by.events.send(String(request.headers['x-request-id']), values[0] as BehavioralEvent[]));
    else {
      behavior ??= by.behavior(request, response);
      results.push(report(behavior, [name, ...values]));
    }
  }
  response.end(JSON.stringify(results));
}

function report(behavior: RequestBehavior, [name, ...values]: Operation): boolean {
  switch (name) {
    case 'begin':
      return true;
    case 'guardrail':
    case 'tool':
      return behavior[name](values[0] as string, values[1] as object | undefined);
    case 'model':
      return behavior.model(...(values as [string, number, number]));
    case 'confirmed':
      return behavior.confirmed(values[0] as boolean | undefined);
    default:
      throw new Error(`unknown operation ${name}`);
  }
}

/** null: allowed; a list: denied; a text: the error. */
async function stateOf(by: Reporter, facts: PolicyFacts): Promise<unknown> {
  try {
    await by.checkPolicy(facts);
    return null;
  } catch (error) {
    if (error instanceof TypeError) return 'invalid facts';
    return (error as { violations?: unknown }).violations ?? (error as Error).message;
  }
}

const server = createServer((request, response) => {
  if (reporter.handle(request, response)) return;
  if (request.url === '/act') void act(request, response, reporter);
  else if (request.url === '/remote') void act(request, response, remote);
  else if (request.url === '/flush') void reporter.events.flush(30_000).then(() => response.end('[]'));
  else response.writeHead(404).end('{"error":"not found"}');
});
reporter.start();
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`);
});
process.once('SIGTERM', () => void reporter.stop().then(() => process.exit(0)));
