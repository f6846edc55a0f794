// `make demo`: a fleet without a cluster. With ONCE=1 it exits when done, with code 1 if a result is wrong.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Children } from './children.ts';
import { differences, type Seen } from './expectations.ts';
import { isEnforced, PYTHON_AGENT, register, startFleet, type DemoAgent, type Fleet } from './fleet.ts';
import { findPython } from './find-python.ts';
import { keepChanging } from './keep-changing.ts';
import { complianceLines, dashboardLines, fleetTable, paletteFor, reasonLines, tryLines } from './present.ts';
import { sendMessages, sendTraffic } from './traffic.ts';
import { waitFor } from './wait-for.ts';

const root = dirname(dirname(import.meta.dirname));
const isOnce = process.env['ONCE'] === '1';
const palette = paletteFor(process.stdout.isTTY && !process.env['NO_COLOR']);
const startedMs = performance.now();
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const progress = (line: string): void =>
  print(palette.dim(`${((performance.now() - startedMs) / 1_000).toFixed(1)}s  ${line}`));

const stopping = new AbortController();
const folder = mkdtempSync(join(tmpdir(), 'agent-compliance-demo-'));
const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
process.on('exit', removeFolder);

/** Resolves when the user stops the demo after the output; rejects if it ends earlier. */
const ended = Promise.withResolvers<undefined>();
// Prevents an unhandled rejection before the promise is awaited.
ended.promise.catch(() => undefined);
const children = new Children(folder, ended.reject);
let isShown = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    stopping.abort();
    if (isShown) ended.resolve(undefined);
    else ended.reject(new Error(`stopped by ${signal}`));
  });

try {
  await Promise.race([showFleet(), ended.promise]);
  isShown = true;
  if (!isOnce) await ended.promise;
} catch (error) {
  process.exitCode = 1;
  const model = process.env['OPENAI_BASE_URL'];
  const modelHint = model ? ` (the agents use the model at OPENAI_BASE_URL=${model})` : '';
  process.stderr.write(
    `the demo failed: ${error instanceof Error ? error.message : String(error)}${modelHint}\n`,
  );
} finally {
  stopping.abort();
  if (!isOnce) print('stopping');
  await children.close();
  removeFolder();
}

async function showFleet(): Promise<void> {
  const python = findPython();
  const fleet = await startFleet({ root, folder, children, signal: stopping.signal, progress, python });
  progress('sending chat requests through the proxies, including streams');
  const isBuiltInModel = !process.env['OPENAI_BASE_URL'];
  const traffic = await Promise.all(
    fleet.agents.map(({ name, proxyUrl }) =>
      (name === PYTHON_AGENT ? sendMessages : sendTraffic)(proxyUrl, {
        isBuiltInModel,
        isEnforced: isEnforced(name),
      }),
    ),
  );
  const clientTokens = new Map(fleet.agents.map(({ name }, index) => [name, traffic[index]?.tokens ?? 0]));
  const calls = traffic.reduce((sum, report) => sum + report.calls, 0);
  progress(`${calls} chat requests completed; registering the agents and waiting for their heartbeats`);
  // Registered after the traffic, so that the first heartbeat includes it: the shortest interval is ten seconds.
  await Promise.all(fleet.agents.map((agent) => register(fleet, agent, folder)));
  const seen = await expectedResults(fleet, clientTokens);
  present(fleet, seen);
  const wrong = [...seen].flatMap(([name, agent]) => differences(name, agent));
  if (wrong.length > 0) throw new Error(`unexpected results:\n${wrong.join('\n')}`);
}

/** Results from the control plane, as soon as they are as expected or after the timeout. */
async function expectedResults(
  fleet: Fleet,
  clientTokens: ReadonlyMap<string, number>,
): Promise<Map<string, Seen>> {
  let last: Map<string, Seen> | null = null;
  const poll = async (): Promise<Map<string, Seen> | null> => {
    last = await readResults(fleet, clientTokens);
    return [...last].every(([name, agent]) => differences(name, agent).length === 0) ? last : null;
  };
  try {
    return await waitFor('the heartbeats', poll, { timeoutMs: 25_000, signal: stopping.signal });
  } catch (error) {
    if (last === null || stopping.signal.aborted) throw error;
    return last;
  }
}

async function readResults(
  fleet: Fleet,
  clientTokens: ReadonlyMap<string, number>,
): Promise<Map<string, Seen>> {
  const rows = await fleet.controlPlane.agents();
  const entries = fleet.agents.map(async (agent) => {
    const row = rows.find(({ agentName }) => agentName === agent.name);
    if (row === undefined) throw new Error(`the control plane does not know ${agent.name}`);
    const seen: Seen = {
      row,
      gap: await fleet.controlPlane.gap(agent.name),
      upstreamTokens: await countedBy(agent),
      clientTokens: clientTokens.get(agent.name) ?? 0,
      seededTokens: seededToday(fleet, agent.name),
    };
    return [agent.name, seen] as const;
  });
  return new Map(await Promise.all(entries));
}

/** The control plane sums the tokens of a UTC day. */
function seededToday({ seeded }: Fleet, name: string): number {
  return seeded.day === new Date().toISOString().slice(0, 10) ? (seeded.tokens.get(name) ?? 0) : 0;
}

/** null: the agent has no reporter. */
async function countedBy(agent: DemoAgent): Promise<number | null> {
  const response = await fetch(`${agent.agentUrl}/platform/usage`, { signal: AbortSignal.timeout(5_000) });
  if (response.status === 404) {
    await response.body?.cancel();
    return null;
  }
  return ((await response.json()) as { totalTokens: number }).totalTokens;
}

function present(fleet: Fleet, seen: ReadonlyMap<string, Seen>): void {
  progress('results received');
  const rows = [...seen.values()].map(({ row }) => row);
  print(`\n${fleetTable(rows, new Date(), palette)}\n`);
  print(`${complianceLines(rows, palette)}\n`);
  for (const [name, { gap }] of seen) print(`${reasonLines(name, gap, palette)}\n`);
  const worst = fleet.agents.at(-1);
  const { controlPlaneUrl, adminKey } = fleet;
  if (isOnce || worst === undefined) {
    print(`The dashboard was at ${controlPlaneUrl}/. Without ONCE=1 the demo keeps it open.`);
    return;
  }
  print(`${palette.bold('Try')}`);
  for (const line of tryLines({ controlPlaneUrl, adminKey, agentName: worst.name, ...worst }))
    print(`  ${line}`);
  // Requests to a real model cost money.
  const changing = process.env['OPENAI_BASE_URL'] ? null : worst.name;
  print(`\n${dashboardLines({ controlPlaneUrl, adminKey, changing }, palette)}`);
  print('\nPress Ctrl-C to stop.');
  if (changing !== null)
    keepChanging({ proxyUrl: worst.proxyUrl, signal: stopping.signal }).catch(ended.reject);
}
