// The vendor of models behind the egress lane: HTTPS on PORT with the certificate TLS_CERT and the key TLS_KEY (files).
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { LANE_SCENARIOS } from '../lane-scenarios.ts';

const file = (variable: string): Buffer => readFileSync(process.env[variable] ?? '');
const responses = new Map(LANE_SCENARIOS.map((scenario) => [scenario.path, scenario]));

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

createServer({ cert: file('TLS_CERT'), key: file('TLS_KEY'), keepAliveTimeout: 0 }, (request, response) => {
  const found = responses.get(request.url ?? '');
  request.resume().once('end', () => {
    const [body = ''] = found?.response ?? [];
    if (found === undefined) response.writeHead(404).end();
    else if (found.response.length === 1)
      response
        .writeHead(200, { 'Content-Type': found.contentType, 'Content-Length': Buffer.byteLength(body) })
        .end(body);
    else {
      response.writeHead(200, { 'Content-Type': found.contentType });
      stream(response, found.response);
    }
  });
}).listen(Number(process.env['PORT']), '127.0.0.1');
