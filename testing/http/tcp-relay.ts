import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP relay in front of a server that can simulate network failures. */
export interface TcpRelay {
  port: number;
  /** Cuts every connection; new ones work. */
  cut(): void;
  /** Silently drops all data, like a lost route. */
  hang(): void;
  /** New connections work again; hanging connections stay silent. */
  heal(): void;
  close(): Promise<void>;
}

export async function startTcpRelay(target: { host: string; port: number }): Promise<TcpRelay> {
  const open = new Set<Socket>();
  let hung = false;
  const server = createServer((client) => {
    const upstream = connect(target);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('close', () => open.delete(socket)).on('error', () => undefined);
    }
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    if (hung) return;
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    hang: () => {
      hung = true;
      for (const socket of open) socket.unpipe().pause();
    },
    heal: () => void (hung = false),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}
