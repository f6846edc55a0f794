// Checks that the memory of the sidecar stays flat. Runs a mixed load for SOAK_SECONDS (default 30) and measures the memory
// after each part. Exits with 1 if the second half of the run needs over MAX_GROWTH_MB more than the first half, or if the OTLP
// receiver exceeds its limits for OTLP_SECONDS (default 60).
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whyNoDebianServers } from '../testing/debian-server.ts';
import { load } from './load.ts';
import { checkOtlp } from './otlp.ts';
import { pin, residentMb, type Started } from './processes.ts';
import { SCENARIOS } from './scenarios.ts';
import { sidecar, startAgent } from './targets.ts';

const MAX_GROWTH_MB = 40;
/** Parts that are not measured: the heap grows until a process has handled some load. */
const WARM_UP_PARTS = 6;

async function soak(seconds: number): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), 'soak-'));
  const started: Started[] = [];
  const held: number[] = [];
  try {
    const agent = await startAgent();
    started.push(agent);
    pin(agent.pid, 'others');
    const target = sidecar('sidecar', { prefix: 'headers', env: { POLICY_ENGINE: 'builtin' } });
    const running = await target.start({ agent, directory });
    const { pid, port } = running;
    started.push(running);
    pin(pid, 'target');
    for (let part = 0; part < seconds + WARM_UP_PARTS; part++) {
      const scenario = SCENARIOS[part % SCENARIOS.length];
      if (scenario === undefined) break;
      await load({ port, prefix: target.prefix, scenario }, { seconds: 1, connections: 64, directory });
      if (part >= WARM_UP_PARTS) held.push(residentMb(pid));
    }
  } finally {
    for (const each of started.reverse()) await each.close();
    await rm(directory, { recursive: true });
  }
  const half = Math.floor(held.length / 2);
  const [before, after] = [Math.max(...held.slice(0, half)), Math.max(...held.slice(half))];
  console.log(
    `maximum memory under load: ${before.toFixed(0)} MB in the first half, ${after.toFixed(0)} MB in the second half`,
  );
  return after <= before + MAX_GROWTH_MB;
}

const missing = whyNoDebianServers();
if (missing !== undefined) console.log(`SKIPPED: soak test: ${missing}`);
else if (!(await soak(Number(process.env['SOAK_SECONDS'] ?? 30)))) {
  console.error(`memory grew by more than ${MAX_GROWTH_MB} MB`);
  process.exitCode = 1;
}
if (!(await checkOtlp(Number(process.env['OTLP_SECONDS'] ?? 60)))) {
  console.error('the OTLP receiver exceeded its limits');
  process.exitCode = 1;
}
