import { check } from '../core/health/check.ts';
import { gather, type GatherInput } from '../probe/gather.ts';
import type { Environment } from '../probe/references.ts';

/** The result of one check run: the report and the facts behind it. */
export type CheckedAgent = Awaited<ReturnType<typeof runChecks>>;

type ChecksInput = Pick<GatherInput, 'manifest' | 'registeredTools' | 'now'>;

/**
 * Runs the checks inside the agent's process: variables, files, tools, services, and the model with its key.
 * @param folder the directory for `$file:` references
 */
export async function runChecks(input: ChecksInput, folder: string, variables: Environment) {
  const { PLATFORM_SECRET_DIR: secretDir = '' } = variables;
  const facts = await gather({
    ...input,
    upstreamUrl: null,
    environment: { kind: 'own', variables, folder, secretDir: secretDir === '' ? null : secretDir },
    checksModel: true,
    pingsServices: true,
  });
  return { health: check(input.manifest, facts), facts };
}
