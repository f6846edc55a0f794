import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { CliContext } from './context.ts';
import { printable } from './rendered.ts';

const VARIABLE = 'PLATFORM_ADMIN_KEY';

export type FoundAdminKey = { ok: true; key: string } | { ok: false; reason: string };

/** From a file, else from the environment; never from the command line, which every process of the machine can read. */
export async function adminKey(
  file: string | undefined,
  { env, cwd }: Pick<CliContext, 'env' | 'cwd'>,
): Promise<FoundAdminKey> {
  if (file === undefined) {
    const value = env[VARIABLE] ?? '';
    if (value.trim() === '')
      return {
        ok: false,
        reason: `${VARIABLE} is not set: it is the admin key of the control plane; or name a file with --admin-key-file`,
      };
    return usable(value, VARIABLE);
  }
  try {
    return usable(await readFile(resolve(cwd, file), 'utf8'), printable(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return {
      ok: false,
      reason: `the admin key cannot be read from ${printable(file)}: ${code ?? String(error)}`,
    };
  }
}

/** The key itself is in no message. */
function usable(text: string, source: string): FoundAdminKey {
  const key = text.trim();
  if (!/^[\x20-\x7e]{1,4096}$/.test(key))
    return { ok: false, reason: `${source} holds no admin key: one line of visible ASCII characters` };
  return { ok: true, key };
}
