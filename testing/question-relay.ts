import { connect } from 'node:net';
import type { TestServers } from './sockets.ts';

/** One client of a relay. Times are those of `performance.now`. */
export interface RelayedClient {
  /** When the first bytes of the client arrived; null: none did. */
  askedAtMs: number | null;
  /** When the connection of the client closed; null: it is open. */
  closedAtMs: number | null;
}

/** A TCP relay in front of a server on this machine. */
export interface QuestionRelay {
  port: number;
  clients: readonly RelayedClient[];
  /** How often a client has sent something. */
  readonly questions: () => number;
}

/** Starts a relay that records what its clients do: a test can wait until the server has been asked. */
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
