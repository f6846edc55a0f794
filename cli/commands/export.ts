import { readFile } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { Option } from 'commander';
import { cardOf } from '../../core/card/card.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { replaceFile } from '../../push/replace-file.ts';
import { agentsMdBlock, withAgentsMdBlock } from '../agents-md.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { causeOf, isSameFile, OVERWRITES_INPUT, readCauseOf } from '../file-failure.ts';
import { invalidManifest, load } from '../load.ts';
import { done, failed, json, printable, type Rendered } from '../rendered.ts';
import { decodeText } from '../source-files.ts';

const FORMATS = ['agentcard', 'agents-md-block'] as const;

interface ExportFlags {
  format: (typeof FORMATS)[number];
  /** Markdown file that gets the block, as typed; absent: print it. */
  into?: string;
}

export const addExport: AddCommand = (program, context, finish) => {
  program
    .command('export')
    .summary('convert a manifest to another format')
    .description(
      'Prints a manifest as A2A 1.0 agent card, or as a block for AGENTS.md, the file that coding assistants read.',
    )
    .argument('<file>', 'path to the manifest, such as agent.yaml')
    .addOption(new Option('--format <format>', 'output format').choices(FORMATS).makeOptionMandatory())
    .option(
      '--into <file>',
      'with agents-md-block: write the block to this file and replace its earlier version',
    )
    .addHelpText('after', HELP)
    .action(async (file: string, flags: ExportFlags) => finish(await exportManifest(file, flags, context)));
};

const HELP = `
Examples:
  $ platform export agent.yaml --format agentcard > agent-card.json
  $ platform export agent.yaml --format agents-md-block --into AGENTS.md

The card lists an interface only if the manifest declares spec.api.a2a and spec.api.url. The block is between two marker
comments with the name of the agent, so that a file can have the blocks of several agents. Other text is not changed. With
--into, the path of the manifest in the block is relative to the directory of that file.

Exit codes: 0 printed or written; 1 the manifest is not valid, or the file cannot be written.`;

async function exportManifest(file: string, flags: ExportFlags, context: CliContext): Promise<Rendered> {
  if (flags.into !== undefined && flags.format !== 'agents-md-block')
    return failed('error: --into is only for --format agents-md-block\n');
  const loaded = await load(file, context);
  if (!loaded.ok) return invalidManifest(loaded, false);
  const { manifest } = loaded;
  if (flags.format === 'agentcard') return done(json(cardOf(manifest)));
  if (flags.into === undefined) return done(`${agentsMdBlock(manifest, file)}\n`);
  const [source, target] = [resolve(context.cwd, file), resolve(context.cwd, flags.into)];
  if (await isSameFile(source, target))
    return failed(`error: cannot write ${printable(flags.into)}: ${OVERWRITES_INPUT}\n`);
  const block = agentsMdBlock(manifest, relative(dirname(target), source));
  return await writeInto(flags.into, manifest, block, context);
}

async function writeInto(
  file: string,
  { metadata }: Manifest,
  block: string,
  { cwd }: CliContext,
): Promise<Rendered> {
  const [path, name] = [resolve(cwd, file), printable(file)];
  let before: string;
  try {
    before = await textOf(path);
  } catch (error) {
    return failed(`error: cannot read ${name}: ${readCauseOf(error)}\n`);
  }
  const next = withAgentsMdBlock(before, metadata.name, block);
  if (!next.ok) return failed(`error: ${name} ${next.reason}; nothing was written\n`);
  if (next.text === before) return done(`${name} is up to date\n`);
  try {
    await replaceFile(path, next.text, 0o666);
    return done(`wrote ${name}\n`);
  } catch (error) {
    return failed(`error: cannot write ${name}: ${causeOf(error)}\n`);
  }
}

/** Text of a file; empty if the file does not exist. */
async function textOf(path: string): Promise<string> {
  try {
    return decodeText(await readFile(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
