import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Reach } from '../core/facts/facts.ts';
import { inTurn, LATE } from './in-turn.ts';

/** Longer commands are cut in what is said of them. */
const MAX_SHOWN = 100;

/**
 * Whether this process could start a command: an executable file at its path, or of its name in a folder of PATH. One that
 * is there is not started, so nothing is known of it: never reachable. Never rejects.
 */
export async function commandReach(command: string, path: string | undefined): Promise<Reach> {
  const unknown: Reach = { state: 'unknown', reason: 'its command is there, and is started by the agent' };
  // There a command may have one of several endings.
  if (process.platform === 'win32') return unknown;
  const places = command.includes('/')
    ? [command]
    : (path ?? '').split(delimiter).map((folder) => join(folder === '' ? '.' : folder, command));
  const found = await inTurn('PATH', () => firstExecutable(places));
  if (found === LATE) return { state: 'unknown', reason: 'the folders of PATH do not answer' };
  const reason = `its command ${command.slice(0, MAX_SHOWN)} is not found`;
  return found ? unknown : { state: 'unreachable', reason };
}

async function firstExecutable(places: readonly string[]): Promise<boolean> {
  for (const place of places) {
    const isThere = await access(place, constants.X_OK)
      .then(() => stat(place))
      .then(
        (entry) => entry.isFile(),
        () => false,
      );
    if (isThere) return true;
  }
  return false;
}
