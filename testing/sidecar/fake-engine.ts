import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { freePorts } from '../../examples/demo/free-ports.ts';
import type { PolicyInput } from '../../core/policy/policy-input.ts';

/** A policy engine whose responses a test can change while it runs. */
export interface FakeEngine {
  url: string;
  /** Received queries, oldest first; `path` without the base. */
  asked: { path: string; input: PolicyInput }[];
  /** `GET /health` calls. */
  healthCalls: number;
  /** Number of accepted connections. */
  connections: number;
  /** Returns the decision for an input. Default: `{result: []}`. */
  reply: Reply | ((input: PolicyInput) => Reply | Promise<Reply>);
  /** Status of `GET /health`; `hang`: no response. */
  health: number | 'hang';
  stop(): Promise<void>;
  restart(): Promise<void>;
}

/** `hang`: no response; `drop`: closes the connection; string: raw body; number: status without body; else a JSON body. */
export type Reply = 'hang' | 'drop' | { text: string } | number | object;

export async function startFakeEngine(reply: FakeEngine['reply'] = { result: [] }): Promise<FakeEngine> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((request, response) => {
    if (request.method === 'GET') {
      engine.healthCalls += 1;
      if (engine.health !== 'hang') response.writeHead(engine.health).end('{}');
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: PolicyInput };
      engine.asked.push({ path: request.url ?? '', input });
      const { reply } = engine;
      // For the compiler, an object may also be a function.
      const chosen =
        typeof reply === 'function' ? (reply as (each: PolicyInput) => Reply | Promise<Reply>)(input) : reply;
      void Promise.resolve(chosen).then((result) => respond(response, result));
    });
  });
  server.on('connection', (socket: Socket) => {
    engine.connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  // Reserves the port while the engine is stopped.
  const [port = 0] = await freePorts(1);
  await listen(port);
  const engine: FakeEngine = {
    url: `http://127.0.0.1:${port}`,
    asked: [],
    healthCalls: 0,
    connections: 0,
    reply,
    health: 200,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
    restart: () => listen(port),
  };
  return engine;
}

function respond(response: ServerResponse, reply: Reply): void {
  if (reply === 'hang') return;
  if (reply === 'drop') return void response.socket?.destroy();
  if (typeof reply === 'number') response.writeHead(reply).end();
  else response.end('text' in reply ? String(reply.text) : JSON.stringify(reply));
}
