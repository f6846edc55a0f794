// The agent behind every target. It listens on PORT. Responses under `/headers/…` have behavioral headers, those under
// `/plain/…` do not.
import { createServer, type ServerResponse } from 'node:http';
import { BEHAVIOR_HEADERS, SCENARIOS } from '../scenarios.ts';

const responses = new Map<string, { headers: Record<string, string>; parts: readonly string[] }>(
  SCENARIOS.flatMap(({ path, contentType, response: parts }) => {
    const type = { 'Content-Type': contentType };
    const [body = ''] = parts;
    const length: Record<string, string> =
      parts.length === 1 ? { 'Content-Length': String(Buffer.byteLength(body)) } : {};
    return [
      [`/plain${path}`, { headers: { ...type, ...length }, parts }],
      [`/headers${path}`, { headers: { ...type, ...length, ...BEHAVIOR_HEADERS }, parts }],
    ];
  }),
);

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

const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  const found = responses.get(request.url ?? '');
  request.resume().once('end', () => {
    response.writeHead(found === undefined ? 404 : 200, found?.headers);
    if (found === undefined || found.parts.length === 1) response.end(found?.parts[0]);
    else stream(response, found.parts);
  });
});
server.listen(Number(process.env['PORT']), '127.0.0.1');
