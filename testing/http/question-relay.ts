import { connect } from 'node:net';
import type { TestServers } from './sockets.ts';

/** One client of a relay. Times are from `performance.now`. */
export interface RelayedClient {
  /** Time of the client's first bytes; null: none. */
  askedAtMs: number | null;
  /** Time of the client's close; null: open. */
  closedAtMs: number | null;
}

/** A TCP relay in front of a server on this machine. */
export interface QuestionRelay {
  port: number;
  clients: readonly RelayedClient[];
  /** Number of clients that have sent data. */
  readonly questions: () => number;
}

/** Starts a relay that records its clients, so that a test can wait for a request to the server. */
export async function startQuestionRelay(servers: TestServers, target: number): Promise<QuestionRelay> {
  const clients: RelayedClient[] = [];
  let questions = 0;
  const port = await servers.tcp((socket) => {
    const client: RelayedClient = { askedAtMs: null, closedAtMs: null };
    clients.push(client);
    const upstream = connect(target, '127.0.0.1').on('error', () => socket.destroy());
    socket.on('data', () => {
      questions += 1;
      client.askedAtMs ??= performance.now();
    });
    socket.once('close', () => {
      client.closedAtMs = performance.now();
      upstream.destroy();
    });
    socket.pipe(upstream).pipe(socket);
  });
  return { port, clients, questions: () => questions };
}
