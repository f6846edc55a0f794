import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { isLingering } from '../proxy/connection-end.ts';
import type { Upstream, UpstreamRequest } from '../proxy/upstream.ts';
import type { StopSwitch } from './stop-switch.ts';

/** The connections of a server, also those that were upgraded. */
export function openSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    // An ignored upgrade emits 'connection' again for the same socket.
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

/** Ends the connections at once, except those whose last bytes are already sent. Returns their number. */
export function cutSockets(sockets: Iterable<Socket>): number {
  let count = 0;
  for (const socket of sockets) {
    if (socket.destroyed || isLingering(socket)) continue;
    // A reset, because a response without a length would otherwise seem to be complete.
    socket.resetAndDestroy();
    count += 1;
  }
  return count;
}

/**
 * The last check before a request is sent: a stop may begin while a request waits for its turn, for its body or for a decision. Its
 * client's connection was ended then, so the request needs no response.
 * @param passes whether a request passes all the same
 */
export function stoppable(
  upstream: Upstream,
  stop: StopSwitch,
  passes: (request: UpstreamRequest) => boolean = () => false,
): Upstream {
  // The clients' connections are ended and counted by their servers.
  stop.onStop(() => {
    upstream.cut();
    return 0;
  });
  return {
    send: (request, handler) => {
      if (stop.current === null || passes(request)) upstream.send(request, handler);
    },
    cut: () => upstream.cut(),
    close: () => upstream.close(),
  };
}
