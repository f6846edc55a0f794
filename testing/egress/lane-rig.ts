import { join } from 'node:path';
import type { EgressCall } from '../../core/shapes/egress-call.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { Programs } from '../frameworks/programs.ts';
import { ProcessRig, type RunningPart } from '../machine/process-rig.ts';
import type { Addresses } from './client-row.ts';
import { CLIENT_ROWS } from './client-rows.ts';
import { laneEnvironment } from './lane-environment.ts';
import { startLaneVendor, type LaneVendor } from './lane-vendor.ts';
import { PROTECTED_PATH } from './mcp-oauth.ts';
import { startMcpShop, type McpShop } from './mcp-shop.ts';

/** A sidecar with every lane, whose upstreams have the vendors' own addresses and are the fake vendor. */
export interface LaneRig {
  vendor: LaneVendor;
  shop: McpShop;
  programs: Programs;
  sidecar: RunningPart & { proxyUrl: string; controlUrl: string };
  /** Port of the lanes. */
  port: number;
  /** The CONNECT lane, for `HTTPS_PROXY`. */
  connectUrl: string;
  /** File with the CA of the vendor, for clients that connect to it themselves. */
  caFile: string;
  at: Addresses;
  /** Id of the newest call in the log. */
  lastCall(): Promise<number>;
  /** The calls after this id, once they are enough: a number of calls, or a condition. */
  callsAfter(id: number, enough: number | ((calls: readonly EgressCall[]) => boolean)): Promise<EgressCall[]>;
  close(): Promise<void>;
}

const DECLARED_MODELS = [
  ...['claude-sonnet-4-5', 'gemini-2.5-flash', 'llama-3.3-70b-versatile', 'mistral-small-latest'],
  ...['command-a-03-2025', 'llama3.2', 'text-embedding-3-small'],
];

/** Declares what honest programs use. `delete_order` is declared, but its call needs a confirmation. */
export const LANE_MANIFEST = JSON.stringify({
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'Sells things.' },
  spec: {
    model: { provider: 'openai', id: 'gpt-4o-mini', apiKey: '$env:OPENAI_API_KEY' },
    tools: [
      { name: 'multiply' },
      { name: 'final_answer' },
      { name: 'delete_order', annotations: { destructiveHint: true } },
    ],
    mcp: { servers: [{ name: 'shop', transport: 'http', url: '$env:SHOP_MCP_URL' }] },
    egress: { models: DECLARED_MODELS },
  },
});

export interface LaneRigOptions {
  manifest?: string;
  /** Variables of the sidecar. */
  env?: Record<string, string>;
  /** More entries of EGRESS_LANES. */
  lanes?: readonly string[];
}

const WAIT_MS = 60_000;

export async function startLaneRig({
  manifest = LANE_MANIFEST,
  env = {},
  lanes = [],
}: LaneRigOptions = {}): Promise<LaneRig> {
  const [vendor, shop, processes] = [await startLaneVendor(), await startMcpShop(), await ProcessRig.open()];
  const [port = 0, connectPort = 0, agent = 0] = await freePorts(3);
  const caFile = await processes.file('ca.pem', vendor.ca);
  const at: Addresses = {
    ...{ plain: vendor.plainUrl, mcp: `${shop.url}/mcp`, mcpSse: `${shop.url}/sse` },
    mcpProtected: shop.url + PROTECTED_PATH,
  };
  const ofMcp = [`mcp:shop=${at.mcp}`, `mcp:older=${at.mcpSse}`, `mcp:protected=${at.mcpProtected}`];
  const ofRows = CLIENT_ROWS.flatMap((row) => laneEnvironment(row, at, port).lanes);
  const sidecar = await processes.startSidecar(agent, await processes.file('agent.yaml', manifest), {
    ...{ POLICY_PROXY_MODE: 'enforce', POLICY_ENGINE: 'builtin', LOG_LEVEL: 'error' },
    EGRESS_LANES: [...new Set([...ofRows, ...ofMcp, ...lanes])].join(','),
    EGRESS_PORT: String(port),
    ...{ EGRESS_CONNECT: 'log', EGRESS_CONNECT_PORT: String(connectPort) },
    EGRESS_CA_FILE: caFile,
    NODE_OPTIONS: `--require ${join(import.meta.dirname, 'to-vendor.cjs')}`,
    VENDOR_TLS_PORT: String(vendor.tlsPort),
    ...env,
  });
  const programs = new Programs(join(import.meta.dirname, 'programs'));
  const calls = async (query = ''): Promise<EgressCall[]> =>
    // Parsed here, because strict equality compares prototypes, and fetch is from outside of the test's realm.
    JSON.parse(await (await fetch(`${sidecar.controlUrl}/egress${query}`)).text()) as EgressCall[];
  return {
    ...{ vendor, shop, programs, sidecar, port, at, caFile },
    connectUrl: `http://127.0.0.1:${connectPort}`,
    lastCall: async () => (await calls('?limit=1'))[0]?.id ?? 0,
    async callsAfter(id, enough) {
      const isEnough =
        typeof enough === 'function' ? enough : (found: readonly EgressCall[]) => found.length >= enough;
      const deadline = Date.now() + WAIT_MS;
      for (;;) {
        const found = (await calls()).filter((call) => call.id > id);
        // A call enters the log when its response has closed, which the client does not wait for.
        if (isEnough(found)) return found;
        if (Date.now() > deadline) throw new Error(`not enough calls in the log: ${JSON.stringify(found)}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    close: async () => {
      await programs.close();
      await processes.close();
      await shop.close();
      await vendor.close();
    },
  };
}
