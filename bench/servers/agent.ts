// The agent behind every target. PORT is the port; `/told/…` answers with behavioral headers, `/plain/…` without.
import { createServer, type ServerResponse } from 'node:http';
import { BEHAVIOR_HEADERS, SCENARIOS } from '../scenarios.ts';

const answers = new Map<string, { headers: Record<string, string>; answer: readonly string[] }>(
  SCENARIOS.flatMap(({ path, contentType, answer }) => {
    const type = { 'Content-Type': contentType };
    const [body = ''] = answer;
    const length: Record<string, string> =
      answer.length === 1 ? { 'Content-Length': String(Buffer.byteLength(body)) } : {};
    return [
      [`/plain${path}`, { headers: { ...type, ...length }, answer }],
      [`/told${path}`, { headers: { ...type, ...length, ...BEHAVIOR_HEADERS }, answer }],
    ];
  }),
);

/** One turn of the event loop for each event, as a model's words come. */
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
  const found = answers.get(request.url ?? '');
  request.resume().once('end', () => {
    response.writeHead(found === undefined ? 404 : 200, found?.headers);
    if (found === undefined || found.answer.length === 1) response.end(found?.answer[0]);
    else stream(response, found.answer);
  });
});
server.listen(Number(process.env['PORT']), '127.0.0.1');
