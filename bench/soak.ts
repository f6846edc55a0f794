// Whether the sidecar's memory is flat: a mixed load for SOAK_SECONDS (30), looked at between its parts. Ends with 1 when the
// second half of the run needs more than the first by MAY_GROW_MB.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whyNoDebianServers } from '../testing/debian-server.ts';
import { load } from './load.ts';
import { pin, residentMb, type Started } from './processes.ts';
import { SCENARIOS } from './scenarios.ts';
import { sidecar, startAgent } from './targets.ts';

const MAY_GROW_MB = 40;
/** The heap of a process that has carried little is not the one that it lives with. */
const WARM_UP_PARTS = 6;

async function soak(seconds: number): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'soak-'));
  const started: Started[] = [];
  const held: number[] = [];
  try {
    const agent = await startAgent();
    started.push(agent);
    pin(agent.pid, 'others');
    const target = sidecar('sidecar', { prefix: 'told', env: { POLICY_ENGINE: 'builtin' } });
    const running = await target.start({ agent, folder });
    const { pid, port } = running;
    started.push(running);
    pin(pid, 'target');
    for (let part = 0; part < seconds + WARM_UP_PARTS; part++) {
      const scenario = SCENARIOS[part % SCENARIOS.length];
      if (scenario === undefined) break;
      await load({ port, prefix: target.prefix, scenario }, { seconds: 1, connections: 64, folder });
      if (part >= WARM_UP_PARTS) held.push(residentMb(pid));
    }
  } finally {
    for (const each of started.reverse()) await each.close();
    await rm(folder, { recursive: true });
  }
  const half = Math.floor(held.length / 2);
  const [before, after] = [Math.max(...held.slice(0, half)), Math.max(...held.slice(half))];
  console.log(
    `memory under load, MB: at most ${before.toFixed(0)} in the first half, ${after.toFixed(0)} in the second`,
  );
  return after <= before + MAY_GROW_MB;
}

const missing = whyNoDebianServers();
if (missing !== undefined) console.log(`SKIPPED: memory under load: ${missing}`);
else if (!(await soak(Number(process.env['SOAK_SECONDS'] ?? 30)))) {
  console.error(`the memory grows by more than ${MAY_GROW_MB} MB`);
  process.exitCode = 1;
}
