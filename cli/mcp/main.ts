// The built command loads this module only for `platform mcp` (scripts/build.mjs), because the SDK of the Model Context
// Protocol is larger than the rest of the command.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { CliContext, Stdio } from '../context.ts';
import { openRoots } from './manifest-files.ts';
import { createMcpServer, type CreatedServer } from './server.ts';
import { withSettings } from './settings.ts';

export interface McpOptions {
  /** Directories below which manifests may be read, as typed. */
  roots: readonly string[];
  allowWrites: boolean;
  /** File with the settings of an editor, as typed; absent: only the environment. */
  settings?: string;
}

/**
 * Serves the protocol until the input ends, the process is stopped, or the client breaks the limits of the protocol. At the end
 * of the input, open calls get their responses first; each is limited in time. Resolves with an error for people, or null.
 */
export async function serveMcp(
  { roots: typed, allowWrites, settings }: McpOptions,
  { env: own, cwd, now, warn }: CliContext,
  stdio: Stdio,
): Promise<string | null> {
  const roots = await openRoots(typed, cwd);
  if (!roots.ok) return roots.reason;
  const env = await withSettings(settings, cwd, own);
  if (!env.ok) return env.reason;
  const created = createMcpServer({ env: env.value, cwd, now, roots: roots.value, allowWrites });
  const { server } = created;
  // The error can contain the message, and so a key.
  server.server.onerror = () => warn?.('warning: a message on standard input is not valid and was ignored');
  const end = endOf(created, stdio);
  await server.connect(new StdioServerTransport(stdio.input, stdio.output));
  await end;
  await server.close();
  stdio.input.destroy();
  return null;
}

/** Resolves when the server must close. */
function endOf({ server, settled }: CreatedServer, { input, stopped }: Stdio): Promise<void> {
  return new Promise((resolve) => {
    server.server.onclose = resolve;
    const end = () => void allResponded(settled).then(resolve);
    for (const event of ['end', 'close', 'error']) input.once(event, end);
    if (stopped.aborted) resolve();
    else stopped.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Resolves once every call has its response: the SDK sends a response in the same turn in which its call ends. */
async function allResponded(settled: () => Promise<void>): Promise<void> {
  await nextTurn();
  await settled();
  await nextTurn();
}
