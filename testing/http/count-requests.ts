import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Returns the number of requests to a server of this process since the call. */
export interface RequestCount extends Disposable {
  count(): number;
}

/** Counts the requests to the server on this port. */
export function countRequests(port: number): RequestCount {
  let count = 0;
  const watch = (message: unknown): void => {
    const address = (message as { server: Server }).server.address() as AddressInfo | null;
    if (address?.port === port) count += 1;
  };
  subscribe('http.server.request.start', watch);
  return { count: () => count, [Symbol.dispose]: () => void unsubscribe('http.server.request.start', watch) };
}
