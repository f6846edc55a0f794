import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createControlPlaneApp } from '../../control-plane/app.ts';
import { readConfig } from '../../control-plane/config.ts';
import { createContext } from '../../control-plane/context.ts';
import { SqlStore } from '../../control-plane/stores/sql/sql-store.ts';
import { SqliteDatabase } from '../../control-plane/stores/sqlite/sqlite-database.ts';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';
import { systemClock } from '../../runtime/clock.ts';
import { listen } from '../../runtime/http-listener.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { aHeartbeat } from '../fleet/heartbeat.ts';
import { manifestText, startSidecarRig, type SidecarRig } from './sidecar-rig.ts';

/** A real sidecar in front of an agent, and a real control plane, in this process. */
export interface AgentServers {
  sidecar: SidecarRig;
  sidecarUrl: string;
  controlPlaneUrl: string;
  adminKey: string;
  /** Registers an agent and sends its first heartbeat. */
  report(agentName: string, heartbeat?: Partial<Heartbeat>): Promise<void>;
  close(): Promise<void>;
}

/** The agent of the sidecar is `shop`. */
export async function startAgentServers(): Promise<AgentServers> {
  const adminKey = 'admin-key-of-the-agent-servers';
  const directory = await mkdtemp(join(tmpdir(), 'agent-servers-'));
  const result = readConfig({ PLATFORM_ADMIN_KEY: adminKey, DATA_DIR: directory, STORE: 'sqlite' });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const store = new SqlStore({
    database: new SqliteDatabase(directory),
    clock: systemClock,
    rateLimitSeconds: 0,
  });
  await store.start();
  const context = createContext({
    config: result.config,
    logger: silentLogger,
    metrics: createMetrics(),
    store,
    pods: { identify: () => Promise.resolve({ kind: 'unauthenticated', reason: 'there is no cluster' }) },
  });
  const listener = await listen({ handler: createControlPlaneApp(context), port: 0, host: '127.0.0.1' });
  const controlPlaneUrl = `http://127.0.0.1:${listener.port}`;
  const sidecar = await startSidecarRig({
    manifest: manifestText({ guardrails: { input: [{ type: 'pii-detector' }] } }),
    agent: { '/health': {}, '/capabilities': { tools: [] } },
  });
  return {
    sidecar,
    sidecarUrl: `http://127.0.0.1:${sidecar.sidecar.controlPort}`,
    controlPlaneUrl,
    adminKey,
    report: async (agentName, heartbeat = {}) => {
      const post = async (
        path: string,
        headers: Record<string, string>,
        body: unknown,
      ): Promise<Response> => {
        const response = await fetch(`${controlPlaneUrl}/api/v1${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(body),
        });
        if (!response.ok) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
        return response;
      };
      const registered = await post(
        '/register',
        { 'x-admin-key': adminKey },
        { agentName, runtime: 'docker' },
      );
      const { apiKey } = (await registered.json()) as { apiKey: string };
      const sent = aHeartbeat({ intervalSeconds: 3_600, ...heartbeat });
      await post('/heartbeat', { authorization: `Bearer ${apiKey}` }, sent);
    },
    close: async () => {
      await sidecar.close();
      await listener.close();
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
}
