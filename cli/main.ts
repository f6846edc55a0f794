// Loaded at every start, so it imports only what the version needs. Everything else is in run.ts, which is a file of its own
// in the build, because the compile cache does not apply to the first file of a process.
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { VERSION } from '../runtime/version.ts';

/**
 * Where Node.js keeps compiled code; null: the user has no cache directory. Not in /tmp, where another user could write it.
 * NODE_COMPILE_CACHE selects another directory, and NODE_DISABLE_COMPILE_CACHE=1 keeps none.
 */
function compileCacheDirectory(): string | null {
  const { HOME: home = '', XDG_CACHE_HOME: own = '' } = process.env;
  const cache = own === '' && home !== '' ? join(home, '.cache') : own;
  return cache === '' ? null : join(cache, 'agent-compliance', 'compile-cache');
}

async function main(args: readonly string[]): Promise<void> {
  if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') process.exitCode = 1;
    });
    process.stdout.write(`${VERSION}\n`);
    return;
  }
  const directory = compileCacheDirectory();
  if (directory !== null) enableCompileCache(directory);
  const { runArguments } = await import('./run.ts');
  await runArguments(args);
}

void main(process.argv.slice(2));
