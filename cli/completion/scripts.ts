import type { CommandWords, OptionWords } from './words.ts';

/** Completion scripts by shell. They contain all words, because starting Node.js at each key press would be slow. */
export const COMPLETION_SCRIPTS = { bash, zsh, fish } as const satisfies Record<
  string,
  (commands: readonly CommandWords[]) => string
>;

export type Shell = keyof typeof COMPLETION_SCRIPTS;

/** Shell words of the tables; the descriptions of options are the only free text, and bash does not show them. */
function bash(commands: readonly CommandWords[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  const values = commands.flatMap((command) =>
    command.options
      .filter((option) => option.values.length > 0)
      .map(
        (option) =>
          `    ${option.flags.map((flag) => `${command.name}:${flag}`).join('|')}) words="${option.values.join(' ')}" ;;\n`,
      ),
  );
  const options = commands.map(
    (command) =>
      `      ${command.name}) words="${command.options.flatMap(({ flags }) => flags).join(' ')}" ;;\n`,
  );
  const positional = commands
    .filter((command) => command.values.length > 0)
    .map((command) => `    ${command.name}:*) words="${command.values.join(' ')}" ;;\n`);
  return `# bash completion of platform
_platform() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${names} --help --version"
  elif [[ $current == -* ]]; then
    case \${COMP_WORDS[1]} in
${options.join('')}    esac
  else case \${COMP_WORDS[1]}:$previous in
${values.join('')}${positional.join('')}  esac
  fi
  # Without words, bash completes file names (-o default). No word has a space.
  # shellcheck disable=SC2207
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _platform platform
`;
}

function zsh(commands: readonly CommandWords[]): string {
  const names = commands.map(({ name, summary }) => `    ${quote(`${name}:${summary}`)}\n`);
  const cases = commands.map(
    ({ name, options, values }) =>
      `    ${name})\n      _arguments ${[
        ...options.flatMap(zshOption),
        ...(values.length > 0 ? [quote(`1:value:(${values.join(' ')})`)] : []),
        quote('*:file:_files'),
      ].join(' \\\n        ')} ;;\n`,
  );
  return `#compdef platform
_platform() {
  local -a commands=(
${names.join('')}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${cases.join('')}  esac
}
if [ "$funcstack[1]" = _platform ]; then _platform "$@"; else compdef _platform platform; fi
`;
}

function zshOption({ flags, description, takesValue, values }: OptionWords): string[] {
  const text = description.replaceAll(/[\\[\]:]/g, String.raw`\$&`);
  const value = values.length > 0 ? `:value:(${values.join(' ')})` : ':value:_files';
  return flags.map((flag) => quote(`${flag}[${text}]${takesValue ? value : ''}`));
}

function fish(commands: readonly CommandWords[]): string {
  const first = commands.map(
    ({ name, summary }) =>
      `complete -c platform -n __fish_use_subcommand -f -a ${name} -d ${fishQuote(summary)}\n`,
  );
  const later = commands.flatMap((command) => {
    const isSeen = `__fish_seen_subcommand_from ${command.name}`;
    const words = command.values.join(' ');
    // After one of the values, for example a subcommand, file names are completed. `help` is a value of itself.
    const others = command.values.filter((value) => value !== command.name);
    const isFirst = `${isSeen}; and not __fish_seen_subcommand_from ${others.join(' ')}`;
    const values = words === '' ? [] : [`complete -c platform -n '${isFirst}' -f -a '${words}'\n`];
    return [
      ...values,
      ...command.options.map((option) => `complete -c platform -n '${isSeen}'${fishOption(option)}\n`),
    ];
  });
  return `# fish completion of platform\n${first.join('')}${later.join('')}`;
}

function fishOption({ flags, description, takesValue, values }: OptionWords): string {
  const names = flags.map((flag) =>
    flag.startsWith('--') ? ` -l ${flag.slice(2)}` : ` -s ${flag.slice(1)}`,
  );
  const value = values.length > 0 ? ` -x -a '${values.join(' ')}'` : takesValue ? ' -r' : '';
  return `${names.join('')}${value} -d ${fishQuote(description)}`;
}

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const fishQuote = (text: string): string => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
