import { createHash } from 'node:crypto';
import { Agent, type Dispatcher } from 'undici';
import type { ClusterAccess, Credentials, TlsOptions } from './cluster-access.ts';
import { VERSION } from '../runtime/version.ts';

/** Tokens and certificates on disk are re-read after this time. */
const CREDENTIALS_MS = 10_000;

/** One connection pool to one API server, replaced only when the TLS material changes or its connections may be dead. */
export class Connection {
  readonly origin: string;
  /** The path of a server address such as https://host/k8s/clusters/c-1; usually empty. */
  readonly prefix: string;
  readonly #access: ClusterAccess;
  #pool: { id: string; agent: Agent } | null = null;
  /** Pools that still have requests in flight. */
  readonly #retired = new Set<Agent>();
  /** The credentials that the pool was last compared with. */
  #lastCompared: Credentials | null = null;
  #read: { at: number; credentials: Promise<Credentials> } | null = null;

  constructor(access: ClusterAccess) {
    const { origin, pathname } = new URL(access.server);
    this.origin = origin;
    this.prefix = pathname.replace(/\/$/, '');
    this.#access = access;
  }

  async current(): Promise<{ headers: Record<string, string>; dispatcher: Dispatcher }> {
    const fresh = await this.#credentials();
    if (this.#pool === null || this.#lastCompared !== fresh) {
      const id = identityOf(fresh.tls);
      if (this.#pool?.id !== id) {
        this.retire();
        this.#pool = { id, agent: createAgent(fresh.tls) };
      }
      this.#lastCompared = fresh;
    }
    return { headers: fresh.headers, dispatcher: this.#pool.agent };
  }

  /** Makes the next request read the credentials again. */
  expire(): void {
    this.#read = null;
  }

  /**
   * Sends new requests to a new pool. Requests on the old pool continue until their response or their time limit.
   * @param failed the pool of the request that failed; a newer one is kept. Absent: the current one
   */
  retire(failed?: Dispatcher): void {
    if (this.#pool === null || (failed !== undefined && failed !== this.#pool.agent)) return;
    const { agent } = this.#pool;
    this.#retired.add(agent);
    // `close` below destroys the pools that still have requests.
    const ended = agent.close().catch(() => undefined);
    void ended.then(() => this.#retired.delete(agent));
    this.#pool = null;
  }

  async close(): Promise<void> {
    const agents = [...this.#retired, ...(this.#pool ? [this.#pool.agent] : [])];
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  #credentials(): Promise<Credentials> {
    if (!this.#read || performance.now() - this.#read.at > CREDENTIALS_MS) {
      const fresh = { at: performance.now(), credentials: this.#access.credentials() };
      fresh.credentials.catch(() => (this.#read = this.#read === fresh ? null : this.#read));
      this.#read = fresh;
    }
    return this.#read.credentials;
  }
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
    // An aborted request waits for the end of its connection attempt, so this also limits how late the end of an outage is detected.
    connect: { ...tls, timeout: 5_000, keepAlive: true, keepAliveInitialDelay: 5_000 },
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
