import { Argument, type Command } from 'commander';
import { COMPLETION_SCRIPTS, type Shell } from '../completion/scripts.ts';
import { completionWords } from '../completion/words.ts';
import type { AddCommand } from '../context.ts';
import { done } from '../rendered.ts';

export const addCompletion: AddCommand = (program: Command, _context, finish) => {
  program
    .command('completion')
    .summary('print a script for shell completion')
    .description(
      'Prints a script with which a shell completes commands, options, their values and file names.',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(COMPLETION_SCRIPTS)))
    .addHelpText('after', HELP)
    .action((shell: Shell) => finish(done(COMPLETION_SCRIPTS[shell](completionWords(program)))));
};

const HELP = `
Examples:
  $ platform completion bash > ~/.local/share/bash-completion/completions/platform
  $ platform completion fish > ~/.config/fish/completions/platform.fish
  $ source <(platform completion zsh)

For zsh, add the last line to ~/.zshrc after compinit.

Exit codes: 0 printed; 1 unknown shell.`;
