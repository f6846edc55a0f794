import type { CliContext } from '../cli/context.ts';
import { commandNames, runCommandLine } from '../cli/program.ts';
import { VERSION } from '../runtime/version.ts';

const CONTEXT: CliContext = { env: {}, cwd: '/', now: () => new Date(0), color: false, ask: null };

async function helpOf(command: string): Promise<string> {
  const { output } = await runCommandLine([...command.split(' ').filter(Boolean), '--help'], CONTEXT);
  return [
    `## \`platform${command === '' ? '' : ` ${command}`}\``,
    '',
    '```text',
    output.trimEnd().replaceAll(VERSION, '<version>'),
    '```',
    '',
  ].join('\n');
}

const INTRODUCTION = `# The command \`platform\`

<!-- Made by scripts/generate.ts from the help of cli/program.ts. Do not edit. -->

What a command finds goes to standard output, errors go to standard error. With \`--json\`, or \`-o json\` where
a command has that, standard output is one JSON document whatever happens. \`<version>\` is what \`platform --version\` prints.
`;

export async function cliReferencePage(): Promise<string> {
  const sections = await Promise.all(['', ...commandNames(CONTEXT)].map(helpOf));
  return `${[INTRODUCTION, ...sections].join('\n').trimEnd()}\n`;
}
