import type { Command, Option } from 'commander';

/** What a shell can complete after a command of `platform`. */
export interface CommandWords {
  name: string;
  summary: string;
  options: readonly OptionWords[];
  /** Values of its argument; empty: file names. */
  values: readonly string[];
}

export interface OptionWords {
  /** With the dashes, for example `--format`. */
  flags: readonly string[];
  description: string;
  takesValue: boolean;
  /** Allowed values; empty: file names, or any text. */
  values: readonly string[];
}

/** Reads the words from the definition of the program, so that the scripts cannot be incomplete. */
export function completionWords(program: Command): CommandWords[] {
  const commands = program.createHelp().visibleCommands(program).map(wordsOf);
  const names = commands.map(({ name }) => name);
  return commands.map((each) => (each.name === 'help' ? { ...each, values: names } : each));
}

/** A command with subcommands completes their names, and the options of all of them. */
function wordsOf(command: Command): CommandWords {
  const below = command.commands;
  const options = [command, ...below].flatMap((each) => each.createHelp().visibleOptions(each).map(optionOf));
  return {
    name: command.name(),
    summary: command.summary(),
    options: [...new Map(options.map((option) => [option.flags.join(' '), option])).values()],
    values: [
      ...below.map((each) => each.name()),
      ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    ],
  };
}

function optionOf(option: Option): OptionWords {
  return {
    flags: [option.long, option.short].filter((flag) => flag !== undefined),
    description: option.description,
    takesValue: !option.isBoolean(),
    values: option.argChoices ?? [],
  };
}
