import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';

/** A request through the proxy takes about four exchanges. */
const EXCHANGES = 20;

/**
 * Resolves after a number of exchanges on new connections of this process. Await it before asserting that nothing
 * happened: everything due runs first, also on a slow machine, because the exchanges are slow there too.
 */
export async function aMoment(): Promise<void> {
  const server = createServer((socket) => socket.pipe(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  for (let exchange = 0; exchange < EXCHANGES; exchange += 1) {
    const socket = connect(port, '127.0.0.1').resume();
    socket.end('x');
    await once(socket, 'close');
  }
  await new Promise((resolve) => server.close(resolve));
}

/** Resolves when the number has stayed the same for a moment. */
export async function stillness(number: () => number): Promise<void> {
  for (let last = Number.NaN; last !== number();) {
    last = number();
    await aMoment();
  }
}
