// An agent with endless streams, for sidecar/streams.integration.test.ts. The test controls it by messages: an open stream
// sends its next event only on request.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `event`: send the next event of each stream; `end`: end each stream with its usage. */
export type ToAgent = 'event' | 'end';

export type FromAgent =
  | { kind: 'listens'; port: number }
  /** Numbers of open streams, streams closed by the client, and completed streams. */
  | { kind: 'streams'; open: number; left: number; ended: number };

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'X-Platform-Guardrails-Invoked': 'pii-detector',
  'X-Platform-Tools-Called': '',
};
const open = new Map<ServerResponse, number>();
let left = 0;
let ended = 0;

const tell = (message: FromAgent): void => void process.send?.(message);
const tellStreams = (): void => tell({ kind: 'streams', open: open.size, left, ended });
const event = (more: object): string =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', model: 'gpt-5', choices: [], ...more })}\n\n`;

const server = createServer({ keepAliveTimeout: 1_000 }, (request, response) => {
  request.resume();
  open.set(response, 0);
  response.once('close', () => {
    open.delete(response);
    if (response.writableFinished) ended += 1;
    else left += 1;
    tellStreams();
  });
  response.writeHead(200, HEADERS).write(event({ number: 0 }));
  tellStreams();
});

process.on('message', (message: ToAgent) => {
  for (const [response, number] of open) {
    if (message === 'end') response.end(event({ usage: { prompt_tokens: 7, completion_tokens: number } }));
    else {
      open.set(response, number + 1);
      response.write(event({ number: number + 1 }));
    }
  }
});
process.once('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => tell({ kind: 'listens', port: (server.address() as AddressInfo).port }));
