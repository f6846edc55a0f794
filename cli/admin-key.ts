import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { CliContext } from './context.ts';
import { printable } from './rendered.ts';

const VARIABLE = 'PLATFORM_ADMIN_KEY';

export type FoundAdminKey = { ok: true; key: string } | { ok: false; reason: string };

/** From a file, else from the environment. Never from the command line: other processes on the machine can read it. */
export async function adminKey(
  file: string | undefined,
  { env, cwd }: Pick<CliContext, 'env' | 'cwd'>,
): Promise<FoundAdminKey> {
  if (file === undefined) {
    const value = env[VARIABLE] ?? '';
    if (value.trim() === '')
      return {
        ok: false,
        reason: `no admin key of the control plane: set ${VARIABLE} or pass --admin-key-file`,
      };
    return usable(value, VARIABLE);
  }
  try {
    return usable(await readFile(resolve(cwd, file), 'utf8'), printable(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return {
      ok: false,
      reason: `cannot read the admin key from ${printable(file)}: ${code ?? String(error)}`,
    };
  }
}

/** Messages never contain the key itself. */
function usable(text: string, source: string): FoundAdminKey {
  const key = text.trim();
  if (!/^[\x20-\x7e]{1,4096}$/.test(key))
    return {
      ok: false,
      reason: `${source} does not contain a valid admin key: expected one line of printable ASCII characters`,
    };
  return { ok: true, key };
}
