import { readConfig, type OperatorConfig } from '../operator/config.ts';

/** The operator's configuration for an environment, with a free port. Throws the problems. */
export function configOf(env: Record<string, string>): OperatorConfig {
  const result = readConfig(env);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return { ...result.config, PORT: 0 };
}
