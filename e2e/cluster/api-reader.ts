// Reads from an API server without a process per request, because polling with kubectl costs a hundred times as much.
import { Agent, request } from 'node:https';
import type { ClusterAccess } from '../../kube/cluster-access.ts';
import type { Forward } from './forward.ts';

/** `path` with its query string. Returns the body; throws the server's message if the status is not 200. */
export type ReadApi = (path: string) => Promise<string>;

/** How to reach the API server. */
export type Access = () => Promise<Pick<ClusterAccess, 'server' | 'credentials'>>;

export class ApiReader {
  readonly #access: Access;
  readonly #agent = new Agent({ keepAlive: true });
  #forward: Promise<Forward> | null = null;
  readonly #connect: ((server: URL) => Promise<Forward>) | null;

  /** `connect` opens a loopback port for a server that is not reachable directly; null: directly reachable. */
  constructor(access: Access, connect: ((server: URL) => Promise<Forward>) | null) {
    this.#access = access;
    this.#connect = connect;
  }

  readonly read: ReadApi = async (path) => {
    const access = await this.#access();
    const server = new URL(access.server);
    const { headers, tls } = await access.credentials();
    if (this.#connect !== null) {
      this.#forward ??= this.#connect(server);
      server.host = new URL((await this.#forward).url).host;
    }
    const url = new URL(server.pathname.replace(/\/$/, '') + path, server);
    return new Promise((resolve, reject) => {
      const outgoing = request(url, { agent: this.#agent, headers, ...tls }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('error', reject);
        response.on('end', () => {
          if (response.statusCode === 200) resolve(text);
          else reject(new Error(`GET ${path}: ${response.statusCode} ${text}`));
        });
      });
      outgoing.on('error', reject);
      outgoing.end();
    });
  };

  async close(): Promise<void> {
    this.#agent.destroy();
    await (await this.#forward)?.close();
  }
}
