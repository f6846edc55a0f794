import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';

/** A control plane with a stream of directives, whose behaviour a test can change while it runs. */
export interface DirectivePlane {
  url: string;
  /** Requests of the stream, oldest first. */
  asked: IncomingMessage[];
  /** Open streams, oldest first. */
  streams: ServerResponse[];
  heartbeats: Heartbeat[];
  /** Status of `GET /api/v1/directives`; 200: a stream. */
  status: number;
  /** Headers of another status. */
  headers: Record<string, string>;
  /** First event of a stream; undefined: none. */
  first: unknown;
  /** Response to a heartbeat; null: 204. */
  reply: object | null;
  /** Responds to `PUT /api/v1/manifest`; default: 404. */
  judge: (() => object) | null;
  /** Sends an event on each open stream. */
  send(value: unknown): void;
  /** Sends text on each open stream. */
  write(text: string): void;
  /** Ends all streams. */
  cut(): void;
  close(): Promise<void>;
}

export const eventOf = (value: unknown): string =>
  `event: directives\ndata: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;

export async function startDirectivePlane(): Promise<DirectivePlane> {
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/api/v1/directives') === true) stream(request, response);
    else if (request.url === '/api/v1/manifest' && plane.judge !== null)
      respond(request, response, plane.judge());
    else if (request.url === '/api/v1/heartbeat')
      respond(request, response, plane.reply, (text) => plane.heartbeats.push(JSON.parse(text) as Heartbeat));
    else response.writeHead(404).end();
  });
  const stream = (request: IncomingMessage, response: ServerResponse): void => {
    plane.asked.push(request);
    if (plane.status !== 200) {
      response.writeHead(plane.status, plane.headers).end('{}');
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 1000\n\n');
    if (plane.first !== undefined) response.write(eventOf(plane.first));
    plane.streams.push(response);
    response.once('close', () => plane.streams.splice(plane.streams.indexOf(response), 1));
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const plane: DirectivePlane = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ asked: [], streams: [], heartbeats: [], status: 200, headers: {}, first: undefined },
    ...{ reply: null, judge: null },
    send: (value) => plane.write(eventOf(value)),
    write: (text) => {
      for (const each of plane.streams) each.write(text);
    },
    cut: () => {
      for (const each of plane.streams) each.destroy();
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return plane;
}

function respond(
  request: IncomingMessage,
  response: ServerResponse,
  body: object | null,
  onText: (text: string) => void = () => undefined,
): void {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  request.on('end', () => {
    onText(text);
    if (body === null) response.writeHead(204).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
}
