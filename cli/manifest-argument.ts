import { resolve } from 'node:path';
import { Argument, type Command } from 'commander';
import type { CliContext } from './context.ts';
import { exists } from './file-failure.ts';

/** Names of a manifest, in the order in which a command without an argument tries them. */
const NAMES = ['agent.yaml', 'agent.yml', 'agent.json'] as const;
/** The name of a new manifest. */
export const [DEFAULT_MANIFEST] = NAMES;
const LIST = 'agent.yaml, agent.yml or agent.json';

/** Why a command has no manifest, and how to get one. */
export const NO_MANIFEST = `there is no ${LIST} in this directory
To write one from the code of the agent: platform scan --dir .
To write a first one: platform init
To write one from what the agent does: platform run --learn -- <command>`;

/** The argument for a manifest. Without a value the action gets the first file of `NAMES` that exists. */
export class ManifestArgument extends Argument {
  /** An option with which the command needs no manifest. */
  readonly unless: string | undefined;

  constructor({
    name = 'file',
    what = 'path to the manifest',
    unless,
  }: Partial<Record<'name' | 'what' | 'unless', string>> = {}) {
    super(`[${name}]`, `${what}; default: ${LIST}`);
    this.unless = unless;
  }
}

/** The first manifest in a directory under one of its usual names; null: there is none. */
export async function defaultManifest({ cwd }: Pick<CliContext, 'cwd'>): Promise<string | null> {
  for (const name of NAMES) if (await exists(resolve(cwd, name))) return name;
  return null;
}

/** Adds the default manifest to the arguments of a command. Returns the reason if there is none; null: the command can run. */
export async function addDefaultManifest(command: Command, context: CliContext): Promise<string | null> {
  for (const [index, argument] of command.registeredArguments.entries()) {
    if (!(argument instanceof ManifestArgument) || command.processedArgs[index] !== undefined) continue;
    if (argument.unless !== undefined && command.getOptionValue(argument.unless) !== undefined) continue;
    const found = await defaultManifest(context);
    if (found === null) return NO_MANIFEST;
    command.processedArgs[index] = found;
  }
  return null;
}
