import { createHash } from 'node:crypto';
import { Agent, type Dispatcher } from 'undici';
import type { ClusterAccess, Credentials, TlsOptions } from './cluster-access.ts';
import { VERSION } from '../runtime/version.ts';

/** One connection pool to one API server, replaced only when the TLS material changes or its connections are dead. */
export interface Connection {
  origin: string;
  /** The path of a server address such as https://host/k8s/clusters/c-1; usually empty. */
  prefix: string;
  current(): Promise<{ headers: Record<string, string>; dispatcher: Dispatcher }>;
  /** A separate pool for one request; the caller destroys it. */
  another(): Promise<{ headers: Record<string, string>; dispatcher: Dispatcher }>;
  /** Makes the next request read the credentials again. */
  expire(): void;
  /** Sends new requests to a new pool. Requests on the old pool continue until their response or their time limit. */
  retire(): void;
  close(): Promise<void>;
}

/** Tokens and certificates on disk are re-read after this time. */
const CREDENTIALS_MS = 10_000;

export function createConnection(access: ClusterAccess): Connection {
  const server = new URL(access.server);
  let pool: { id: string; agent: Agent } | null = null;
  /** Pools that still have requests in flight. */
  const retired = new Set<Agent>();
  /** The credentials that the pool was last compared with. */
  let lastCompared: Credentials | null = null;
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
    // `close` below destroys the pools that still have requests.
    const ended = agent.close().catch(() => undefined);
    void ended.then(() => retired.delete(agent));
    pool = null;
  }

  return {
    origin: server.origin,
    prefix: server.pathname.replace(/\/$/, ''),
    async current() {
      const fresh = await credentials();
      if (pool === null || lastCompared !== fresh) {
        const id = identityOf(fresh.tls);
        if (pool?.id !== id) {
          retire();
          pool = { id, agent: createAgent(fresh.tls) };
        }
        lastCompared = fresh;
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
    // TCP keep-alive: the kernel probes after five silent seconds and gives up after ten more. This detects a lost route.
    connect: { ...tls, timeout: 10_000, keepAlive: true, keepAliveInitialDelay: 5_000 },
    connections: 32,
    // Shorter than the API server's idle timeout of 90 s, so that this side closes first.
    keepAliveTimeout: 30_000,
    // Every request has its own limit; a watch may be silent for a minute and last for several.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  });
}

/** Identifies the component in the API server's audit log. */
export function userAgentOf(part: string): string {
  return `agent-compliance-${part}/${VERSION} (${process.platform}/${process.arch})`;
}
