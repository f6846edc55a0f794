import type { GeneratedFile } from './generated-file.ts';

/** An existing file of this name is kept, because it may contain a key. */
export const ENV_PLATFORM = '.env.platform';

/** Placeholders of the variables with which an agent sends heartbeats. */
export function envPlatformFile(agentName: string): GeneratedFile {
  const content = `# Control plane for the heartbeats of ${agentName}, and the key of the agent. Replace both placeholders.
# "platform register" prints the key. Do not commit this file.
PLATFORM_URL=<PLATFORM_URL>
PLATFORM_KEY=<PLATFORM_KEY>
`;
  return { path: ENV_PLATFORM, content, kept: true, isSecret: true };
}
