// The built command loads this module only for `platform mcp` (scripts/build.mjs), because the SDK of the Model Context
// Protocol is larger than the rest of the command.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { CliContext, Stdio } from '../context.ts';
import { openRoots } from './manifest-files.ts';
import { createMcpServer } from './server.ts';

export interface McpOptions {
  /** Directories below which manifests may be read, as typed. */
  roots: readonly string[];
  allowWrites: boolean;
}

/**
 * Serves the protocol until the input ends, the process is stopped, or the client breaks the limits of the protocol. At the end
 * of the input, open calls are answered first; each is limited in time. Resolves with an error for people, or null.
 */
export async function serveMcp(
  { roots: typed, allowWrites }: McpOptions,
  { env, cwd, now, warn }: CliContext,
  { input, output, stopped }: Stdio,
): Promise<string | null> {
  const roots = await openRoots(typed, cwd);
  if (!roots.ok) return roots.reason;
  const { server, settled } = createMcpServer({ env, cwd, now, roots: roots.value, allowWrites });
  const closed = new Promise<void>((resolve) => {
    server.server.onclose = resolve;
  });
  // The error can contain the message, and so a key.
  server.server.onerror = () => warn?.('warning: a message on standard input is not valid and was ignored');
  const ended = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error']) input.once(event, () => resolve());
  });
  const isStopped = new Promise<void>((resolve) => {
    if (stopped.aborted) resolve();
    else stopped.addEventListener('abort', () => resolve(), { once: true });
  });
  await server.connect(new StdioServerTransport(input, output));
  await Promise.race([isStopped, closed, ended.then(() => answered(settled))]);
  await server.close();
  input.destroy();
  return null;
}

/** Resolves once every call is answered: the SDK sends a response in the same turn in which its call ends. */
async function answered(settled: () => Promise<void>): Promise<void> {
  await nextTurn();
  await settled();
  await nextTurn();
}
