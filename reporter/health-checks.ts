import type { Facts } from '../core/facts/facts.ts';
import { check } from '../core/health/check.ts';
import type { HealthReport } from '../core/health/health.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import { gather } from '../probe/gather.ts';

/** The result of one check run: the report and the facts behind it. */
export interface CheckedAgent {
  health: HealthReport;
  facts: Facts;
}

export interface ChecksInput {
  manifest: Manifest;
  manifestFolder: string;
  env: Readonly<Record<string, string | undefined>>;
  /** null: no registry was given. */
  registeredTools: ReadonlySet<string> | null;
  now: () => Date;
}

/** Runs the checks inside the agent's process: variables, files, tools, services, and the model with its key. */
export async function runChecks(input: ChecksInput): Promise<CheckedAgent> {
  const { manifest, env, now, registeredTools } = input;
  const secretDir = env['PLATFORM_SECRET_DIR'] ?? '';
  const facts = await gather({
    manifest,
    upstreamUrl: null,
    environment: {
      kind: 'own',
      variables: env,
      folder: input.manifestFolder,
      secretDir: secretDir === '' ? null : secretDir,
    },
    registeredTools,
    checksModel: true,
    pingsServices: true,
    now,
  });
  return { health: check(manifest, facts), facts };
}
