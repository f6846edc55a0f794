import { connectTimeoutOf, IDLE_MS, type Upstream, type UpstreamOptions } from '../proxy/upstream.ts';
import type { Target } from './connection.ts';
import { Pool } from './pool.ts';
import { Transfer } from './transfer.ts';
import { hostPortOf } from '../../core/facts/address.ts';

export interface HttpUpstreamOptions extends Omit<UpstreamOptions, 'tls'> {
  /** Path of a Unix socket to connect to, in place of the host and port of the URL. */
  socketPath?: string;
}

/** The HTTP/1.1 client for all requests without TLS: to the agent, to model gateways and to the policy engine. */
export function createHttpUpstream(options: HttpUpstreamOptions): Upstream {
  const { timeoutMs, idleMs = IDLE_MS, maxConnections = Infinity } = options;
  const pool = new Pool({ target: targetOf(options), idleMs, maxConnections });
  return {
    send(request, handler) {
      const transfer = new Transfer(request, handler);
      if (timeoutMs !== null) transfer.limitWait(timeoutMs);
      pool.send(transfer);
    },
    close: () => {
      pool.close();
      return Promise.resolve();
    },
  };
}

function targetOf(options: HttpUpstreamOptions): Target {
  const { url, socketPath } = options;
  return {
    address: socketPath === undefined ? hostPortOf(url) : { path: socketPath },
    prefix: url.pathname.replace(/\/$/, ''),
    host: url.host,
    connectTimeoutMs: connectTimeoutOf(options),
  };
}
