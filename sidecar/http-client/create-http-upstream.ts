import { connectTimeoutOf, IDLE_MS, type Upstream, type UpstreamOptions } from '../proxy/upstream.ts';
import type { Target } from './connection.ts';
import { Pool } from './pool.ts';
import { TlsTarget } from './tls-target.ts';
import { Transfer } from './transfer.ts';
import { hostPortOf } from '../../core/facts/address.ts';

export interface HttpUpstreamOptions extends UpstreamOptions {
  /** Path of a Unix socket to connect to, in place of the host and port of an `http:` URL. */
  socketPath?: string;
}

/** The HTTP/1.1 client for all requests to the agent, to model providers and to the policy engine. */
export function createHttpUpstream(options: HttpUpstreamOptions): Upstream {
  const { timeoutMs, idleMs = IDLE_MS, maxConnections = Infinity } = options;
  const pool = new Pool({ target: targetOf(options), idleMs, maxConnections });
  return {
    send(request, handler) {
      const transfer = new Transfer(request, handler);
      if (timeoutMs !== null) transfer.limitWait(timeoutMs);
      pool.send(transfer);
    },
    cut: () => pool.cut(),
    close: () => {
      pool.close();
      return Promise.resolve();
    },
  };
}

function targetOf(options: HttpUpstreamOptions): Target {
  const { url, socketPath, tls } = options;
  const at = hostPortOf(url);
  return {
    address: socketPath === undefined ? at : { path: socketPath },
    tls: url.protocol === 'https:' ? new TlsTarget(at.host, tls) : null,
    prefix: url.pathname.replace(/\/$/, ''),
    host: url.host,
    connectTimeoutMs: connectTimeoutOf(options),
  };
}
