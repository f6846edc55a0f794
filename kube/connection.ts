import { createHash } from 'node:crypto';
import { Agent, type Dispatcher } from 'undici';
import type { ClusterAccess, Credentials, TlsOptions } from './cluster-access.ts';
import { VERSION } from '../runtime/version.ts';

/** One connection pool to one API server, replaced only when the TLS material changes or its connections are dead. */
export interface Connection {
  origin: string;
  /** The path of a server address such as https://host/k8s/clusters/c-1; empty for most. */
  prefix: string;
  current(): Promise<{ headers: Record<string, string>; dispatcher: Dispatcher }>;
  /** A pool of its own, for one request; the caller destroys it. */
  another(): Promise<{ headers: Record<string, string>; dispatcher: Dispatcher }>;
  /** The credentials are read again for the next request. */
  expire(): void;
  /** New requests go to a new pool. Requests in flight on the old one are not cut: each ends with its response or at its limit. */
  retire(): void;
  close(): Promise<void>;
}

/** Tokens and certificates on disk are read again after this time. */
const CREDENTIALS_MS = 10_000;

export function createConnection(access: ClusterAccess): Connection {
  const server = new URL(access.server);
  let pool: { id: string; agent: Agent } | null = null;
  /** Pools that still have requests in flight. */
  const retired = new Set<Agent>();
  /** The credentials that the pool was last compared with. */
  let seen: Credentials | null = null;
  let read: { at: number; credentials: Promise<Credentials> } | null = null;

  function credentials(): Promise<Credentials> {
    if (!read || performance.now() - read.at > CREDENTIALS_MS) {
      const fresh = { at: performance.now(), credentials: access.credentials() };
      fresh.credentials.catch(() => (read = read === fresh ? null : read));
      read = fresh;
    }
    return read.credentials;
  }

  function retire(): void {
    if (pool === null) return;
    const { agent } = pool;
    retired.add(agent);
    // `close` below destroys those that have not ended by then.
    const ended = agent.close().catch(() => undefined);
    void ended.then(() => retired.delete(agent));
    pool = null;
  }

  return {
    origin: server.origin,
    prefix: server.pathname.replace(/\/$/, ''),
    async current() {
      const fresh = await credentials();
      if (pool === null || seen !== fresh) {
        const id = identityOf(fresh.tls);
        if (pool?.id !== id) {
          retire();
          pool = { id, agent: createAgent(fresh.tls) };
        }
        seen = fresh;
      }
      return { headers: fresh.headers, dispatcher: pool.agent };
    },
    async another() {
      const { headers, tls } = await credentials();
      return { headers, dispatcher: createAgent(tls) };
    },
    expire: () => (read = null),
    retire,
    close: async () => {
      await Promise.all([...retired, ...(pool ? [pool.agent] : [])].map((agent) => agent.destroy()));
    },
  };
}

function identityOf(tls: TlsOptions): string {
  const hash = createHash('sha256');
  for (const part of [tls.ca, tls.cert, tls.key, tls.servername, String(tls.rejectUnauthorized)])
    hash.update(part ?? '').update('\0');
  return hash.digest('hex');
}

function createAgent(tls: TlsOptions): Agent {
  return new Agent({
    // The kernel asks after five silent seconds and gives up after ten more: a route that is lost is no quiet watch.
    connect: { ...tls, timeout: 10_000, keepAlive: true, keepAliveInitialDelay: 5_000 },
    connections: 32,
    // Under the API server's idle time-out of 90 s, so that this side closes first.
    keepAliveTimeout: 30_000,
    // Every request has its own limit; a watch is silent for a minute and lasts for several.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  });
}

/** How the API server's audit log tells the parts of the product apart. */
export function userAgentOf(part: string): string {
  return `agent-compliance-${part}/${VERSION} (${process.platform}/${process.arch})`;
}
