import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Reach } from '../core/facts/facts.ts';
import { inTurn, LATE } from './in-turn.ts';

/** Longer commands are truncated in messages. */
const MAX_SHOWN = 100;

/**
 * Whether this process could start a command: an executable file at its path, or with its name in a PATH directory. The
 * command is not started, so the result is never `reachable`. Never rejects.
 */
export async function commandReach(command: string, path: string | undefined): Promise<Reach> {
  const unknown: Reach = { state: 'unknown', reason: 'command found; only the agent starts it' };
  // On Windows a command may have one of several extensions.
  if (process.platform === 'win32') return unknown;
  const places = command.includes('/')
    ? [command]
    : (path ?? '').split(delimiter).map((folder) => join(folder === '' ? '.' : folder, command));
  const found = await inTurn('PATH', () => firstExecutable(places));
  if (found === LATE) return { state: 'unknown', reason: 'reading the PATH directories timed out' };
  const reason = `command not found: ${command.slice(0, MAX_SHOWN)}`;
  return found ? unknown : { state: 'unreachable', reason };
}

async function firstExecutable(places: readonly string[]): Promise<boolean> {
  for (const place of places) if (await isExecutable(place)) return true;
  return false;
}

/** Whether this process may execute the file at a path. */
export const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK)
    .then(() => stat(path))
    .then(
      (entry) => entry.isFile(),
      () => false,
    );
