import { readConfig, type OperatorConfig } from '../operator/config.ts';

/** What the operator reads of an environment, but on a port of its own choice. Throws what is wrong with it. */
export function configOf(env: Record<string, string>): OperatorConfig {
  const result = readConfig(env);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return { ...result.config, PORT: 0 };
}
