import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { clusterBinary } from '../machine/cluster-binary.ts';
import type { Program } from '../machine/debian-server.ts';

const SCRIPT = join(import.meta.dirname, '../../e2e/cluster/build.sh');

/** Why this machine cannot run the OpenTelemetry Collector; undefined: it can. Builds it if necessary (minutes, once). */
export function whyNoCollector(): string | undefined {
  const env = { ...process.env, ONLY: 'otel-collector', E2E_KUBECONFIG: '' };
  const { status, stdout, stderr } = spawnSync(SCRIPT, { env, encoding: 'utf8' });
  if (status === 0) return undefined;
  if (status !== 3) throw new Error(`${SCRIPT} failed: ${stdout}${stderr}`);
  process.stderr.write(`SKIPPED: ${stderr.trim()}\n`);
  return stderr.trim();
}

/** How to run the collector. Call `whyNoCollector` first. */
export const collector = (): Program => ({
  ...{ command: clusterBinary('otel-collector'), leading: [], env: process.env },
});
