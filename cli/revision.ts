import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { MAX_MANIFEST_BYTES } from '../core/manifest/parse-manifest.ts';
import { parseManifestBytes, unreadableManifest, type LoadedManifest } from '../runtime/manifest-file.ts';
import type { CliContext } from './context.ts';
import { load } from './load.ts';

/** The revision in front of the path, for example `main:` or `HEAD~1:./`. */
export const REVISION = /^[^-:][^:]*:(?:\.\/)?/;
const GIT_MS = 10_000;

/**
 * Loads a manifest from a file or from a git revision, for example `main:agent.yaml` or `HEAD~1:./agent.yaml`. A file with that
 * name takes precedence.
 */
export async function loadRevision(
  name: string,
  context: Pick<CliContext, 'cwd' | 'env'>,
): Promise<LoadedManifest> {
  const isRevision = REVISION.test(name) && !existsSync(resolve(context.cwd, name));
  return isRevision ? await loadFromGit(name, context) : await load(name, context);
}

async function loadFromGit(
  name: string,
  { cwd, env }: Pick<CliContext, 'cwd' | 'env'>,
): Promise<LoadedManifest> {
  try {
    const { stdout } = await promisify(execFile)('git', ['cat-file', 'blob', name], {
      cwd,
      env: { ...env, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' },
      encoding: 'buffer',
      maxBuffer: MAX_MANIFEST_BYTES + 1,
      timeout: GIT_MS,
    });
    return parseManifestBytes(name, stdout);
  } catch (error) {
    return unreadableManifest(name, gitFailure(error));
  }
}

function gitFailure(error: unknown): string {
  const { code, killed, stderr } = error as { code?: unknown; killed?: boolean; stderr?: Buffer };
  if (code === 'ENOENT') return 'cannot be read: git is not installed';
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'exceeds the maximum manifest size of 1 MiB';
  if (killed === true) return `cannot be read: git did not respond within ${GIT_MS / 1_000} s`;
  const reason =
    String(stderr ?? '')
      .trim()
      .split('\n')[0] ?? '';
  return `cannot be read from git: ${reason.replace(/^fatal: /, '') || 'git failed'}`;
}
