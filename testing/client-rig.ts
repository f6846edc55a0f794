import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AuditEntry } from '../core/behavior/audit-entry.ts';
import { manifestText, startSidecarRig } from './sidecar-rig.ts';

/** What the proxy does with a denial; what passes must pass alike in each. */
export const MODES = ['track', 'enforce'] as const;
export type Mode = (typeof MODES)[number];

/** A whole sidecar, for clients that think they speak with the agent. */
export interface ClientRig {
  /** Where a client finds the agent: the sidecar's proxy. */
  url: string;
  /** The ring once so many requests are complete, oldest first; throws after five seconds. */
  completed(count: number): Promise<AuditEntry[]>;
  close(): Promise<void>;
}

/** A sidecar before the agent at this address. */
export async function startClientRig(
  agentUrl: string,
  { mode, manifest = manifestText() }: { mode: Mode; manifest?: string },
): Promise<ClientRig> {
  const rig = await startSidecarRig({
    manifest,
    env: { UPSTREAM_URL: agentUrl, POLICY_PROXY_MODE: mode, POLICY_ENGINE: 'builtin' },
  });
  return {
    url: rig.proxyUrl,
    completed: async (count) => {
      const deadline = Date.now() + 5_000;
      for (;;) {
        const entries = await rig.report<AuditEntry[]>('/audit');
        const done = entries.filter(({ outcome }) => outcome !== undefined);
        if (done.length >= count) return done;
        if (Date.now() > deadline) throw new Error(`${done.length} of ${count}: ${JSON.stringify(entries)}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    close: () => rig.close(),
  };
}

export interface ServedRig extends ClientRig {
  server: Server;
  /** The agent's own address, for a look past the sidecar. */
  agentUrl: string;
}

/** A sidecar before an agent that this handler plays. */
export async function startServedRig(
  handler: RequestListener,
  options: { mode: Mode; manifest?: string },
): Promise<ServedRig> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const agentUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const rig = await startClientRig(agentUrl, options);
  return {
    ...rig,
    server,
    agentUrl,
    close: async () => {
      await rig.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
