import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { freePorts } from '../../examples/demo/free-ports.ts';

/** Servers on free ports that are closed together, with all connections. */
export class TestServers {
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  /** An HTTP server; resolves with its port. */
  http(handler: RequestListener): Promise<number> {
    return this.#listen(createServer(handler));
  }

  /** A TCP server; resolves with its port. */
  tcp(onConnection: (socket: Socket) => void): Promise<number> {
    return this.#listen(createTcpServer(onConnection));
  }

  /** An unused port of this machine. */
  async closedPort(): Promise<number> {
    const [port = 0] = await freePorts(1);
    return port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const ended = this.#servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve)));
    await Promise.all(ended);
  }

  #listen(server: Server): Promise<number> {
    this.#servers.push(server);
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      // Probes abort connections; that is not a test failure.
      socket.on('error', () => undefined);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    return portOf(server);
  }
}

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
