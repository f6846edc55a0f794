// The agent behind every target. It listens on PORT, with TLS if TLS_CERT and TLS_KEY name files. Responses under `/headers/…` have
// behavioral headers, those under `/plain/…` do not. The paths of an egress lane have no prefix.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { LANE_SCENARIOS } from '../lane-scenarios.ts';
import { BEHAVIOR_HEADERS, SCENARIOS, type Scenario } from '../scenarios.ts';

interface Reply {
  headers: Record<string, string>;
  parts: readonly string[];
}

function responseOf({ contentType, response: parts }: Scenario, more: Record<string, string> = {}): Reply {
  const [body = ''] = parts;
  const length: Record<string, string> =
    parts.length === 1 ? { 'Content-Length': String(Buffer.byteLength(body)) } : {};
  return { headers: { 'Content-Type': contentType, ...length, ...more }, parts };
}

const responses = new Map<string, Reply>([
  ...SCENARIOS.flatMap((scenario): [string, Reply][] => [
    [`/plain${scenario.path}`, responseOf(scenario)],
    [`/headers${scenario.path}`, responseOf(scenario, BEHAVIOR_HEADERS)],
  ]),
  ...LANE_SCENARIOS.map((scenario): [string, Reply] => [scenario.path, responseOf(scenario)]),
]);

/** Writes one event per turn of the event loop, like a model that generates token by token. */
function stream(response: ServerResponse, events: readonly string[], next = 0): void {
  if (response.destroyed) return;
  if (next === events.length) {
    response.end();
    return;
  }
  response.write(events[next]);
  setImmediate(stream, response, events, next + 1);
}

function onRequest(request: IncomingMessage, response: ServerResponse): void {
  const found = responses.get(request.url ?? '');
  request.resume().once('end', () => {
    response.writeHead(found === undefined ? 404 : 200, found?.headers);
    if (found === undefined || found.parts.length === 1) response.end(found?.parts[0]);
    else stream(response, found.parts);
  });
}

const { PORT, TLS_CERT, TLS_KEY } = process.env;
const options = { keepAliveTimeout: 0 };
const server =
  TLS_CERT === undefined || TLS_KEY === undefined
    ? createServer(options, onRequest)
    : createTlsServer({ ...options, cert: readFileSync(TLS_CERT), key: readFileSync(TLS_KEY) }, onRequest);
server.listen(Number(PORT), '127.0.0.1');
