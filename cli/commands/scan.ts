import { Option } from 'commander';
import { PROVIDERS } from '../../llm/provider.ts';
import type { AddCommand } from '../context.ts';
import { Alias } from '../output-options.ts';
import type { ScanFlags } from '../scan/run-scan.ts';

export const addScan: AddCommand = (program, context, finish) => {
  program
    .command('scan')
    .summary('write a manifest from the code of an agent')
    .description(
      'Finds models, tools, MCP servers, environment variables, guardrails, stores, prompts and endpoints in Python, JavaScript and TypeScript code, and writes a manifest. Each value has the file and line where it was found. An LLM adds what patterns cannot find.',
    )
    .requiredOption('--dir <path>', 'directory of the agent')
    .option('--output <file>', 'write the manifest to this file')
    .addOption(new Alias('--out <path>', 'output'))
    .option('--update', 'replace an existing agent.yaml')
    .option('--dry-run', 'print the manifest and write nothing')
    .addOption(
      new Option('--provider <name>', 'LLM provider to use; default: the first one that is ready').choices(
        PROVIDERS,
      ),
    )
    .option('--no-llm', 'write only what was found in the code, without an LLM')
    .addHelpText('after', HELP)
    .action(async (flags: ScanFlags) => {
      // The patterns are needed by no other command.
      const { runScan } = await import('../scan/run-scan.ts');
      finish(await runScan(flags, context));
    });
};

const HELP = `
Examples:
  $ platform scan --dir . --no-llm
  $ platform scan --dir agents/travel --dry-run
  $ platform scan --dir agents/travel --update --provider anthropic-api

The manifest is agent.yaml in the directory. If this file exists, agent.yaml.new is written, unless --update is set. --update
replaces everything except the metadata. The scan reads .py, .ts, .js, .mjs and .cjs files, at most 50 files and 200 KB, and skips
node_modules/, .git/, dist/ and .venv/. It follows no symbolic link, opens no file whose name looks like secrets, and reads tests
only to find evaluations. An LLM gets the code without strings that look like secrets. It cannot remove or replace what was found.

Exit codes: 0 manifest written or printed; 1 no provider is ready, no code was found, or the manifest cannot be generated or
written.`;
