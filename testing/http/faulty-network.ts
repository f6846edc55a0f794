import type { ControlPlane } from '../../e2e/cluster/control.ts';
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts';
import { startTcpRelay, type TcpRelay } from './tcp-relay.ts';

/** A faulty connection to an API server: a TCP relay and, behind it, a proxy for HTTP faults. */
export interface FaultyNetwork {
  url: string;
  network: TcpRelay;
  proxy: FaultProxy;
  /** Removes the faults of both. */
  heal(): void;
  close(): Promise<void>;
}

export async function openFaultyNetwork(control: ControlPlane): Promise<FaultyNetwork> {
  const proxy = await startFaultProxy(control);
  const network = await startTcpRelay({ host: '127.0.0.1', port: proxy.port });
  return {
    url: `https://127.0.0.1:${network.port}`,
    network,
    proxy,
    heal() {
      network.heal();
      proxy.heal();
    },
    async close() {
      await network.close();
      await proxy.close();
    },
  };
}
