import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Simulates a Service: each new connection goes to the next ready port. */
export interface TcpBalancer {
  readonly port: number;
  /** Sets the ready ports; open connections are not moved. */
  ready(ports: readonly number[]): void;
  close(): Promise<void>;
}

/** Starts the balancer on loopback. Connections are closed while no port is ready. */
export async function startTcpBalancer(): Promise<TcpBalancer> {
  const open = new Set<Socket>();
  let targets: readonly number[] = [];
  let turn = 0;
  const server = createServer((client) => {
    const target = targets[turn++ % targets.length];
    if (target === undefined) return void client.on('error', () => undefined).destroy();
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on('close', () => open.delete(socket)).on('error', () => undefined);
    }
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    ready: (ports) => void (targets = ports),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
