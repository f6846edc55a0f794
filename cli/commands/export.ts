import { readFile } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { SPEC_VERSIONS, type SpecVersion } from '../../authoring/bom/cyclonedx.ts';
import { billOfMaterials, type BillOfMaterials } from '../bill-of-materials.ts';
import { cardOf } from '../../core/manifest/card.ts';
import type { LoadedManifest } from '../../runtime/manifest-file.ts';
import { agentsMdBlock, withAgentsMdBlock } from '../agents-md.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { isSameFile, OVERWRITES_INPUT, readCauseOf } from '../file-failure.ts';
import { writeProblem } from '../write-problem.ts';
import { invalidManifest, load } from '../load.ts';
import { httpUrl } from '../option-values.ts';
import { ManifestArgument } from '../manifest-argument.ts';
import { Alias } from '../output-options.ts';
import { done, failed, json, printable, refusal, type Rendered } from '../rendered.ts';
import { decodeText } from '../source-files.ts';

const FORMATS = ['agentcard', 'agents-md-block', 'cyclonedx'] as const;

interface ExportFlags {
  format: (typeof FORMATS)[number];
  /** File, as typed; absent: print. */
  output?: string;
  /** The control port of a sidecar. */
  url?: URL;
  specVersion: SpecVersion;
}

export const addExport: AddCommand = (program, context, finish) => {
  program
    .command('export')
    .summary('convert a manifest to another format')
    .description(
      'Prints a manifest as A2A 1.0 agent card, as a block for AGENTS.md, the file that coding assistants read, or as a CycloneDX bill of materials.',
    )
    .addArgument(new ManifestArgument())
    .addOption(new Option('--format <format>', 'output format').choices(FORMATS).makeOptionMandatory())
    .option(
      '--output <file>',
      'write to a file; agents-md-block: add the block to the file, or replace its earlier version',
    )
    .addOption(new Alias('--into <file>', 'output'))
    .option('--url <url>', "cyclonedx: URL of the sidecar's control port, to add what it observed", httpUrl)
    .addOption(
      new Option('--spec-version <version>', 'cyclonedx: version of the specification')
        .choices(SPEC_VERSIONS)
        .default('1.6'),
    )
    .addHelpText('after', HELP)
    .action(async (file: string, flags: ExportFlags, command: Command) => {
      if (flags.url !== undefined && flags.format !== 'cyclonedx')
        command.error('error: --url requires --format cyclonedx');
      finish(await exportManifest(file, flags, context));
    });
};

const HELP = `
Examples:
  $ platform export agent.yaml --format agentcard --output agent-card.json
  $ platform export agent.yaml --format agents-md-block --output AGENTS.md
  $ platform export agent.yaml --format cyclonedx --url localhost:4001 --output bom.json

The card lists an interface only if the manifest declares spec.api.a2a and spec.api.url. The block is between two marker
comments with the name of the agent, so that a file can have the blocks of several agents. Other text is not changed. With
--output, the path of the manifest in the block is relative to the directory of that file.

A bill of materials has what the manifest declares and, with --url, what lanes and census observed; each part says which. It has no
keys, no texts of prompts and no time, so two exports of the same state are equal.

Exit codes: 0 printed or written; 1 the manifest is not valid, the sidecar is
unreachable, or the file cannot be written.`;

async function exportManifest(file: string, flags: ExportFlags, context: CliContext): Promise<Rendered> {
  const loaded = await load(file, context);
  if (!loaded.ok) return invalidManifest(loaded, false);
  const { manifest } = loaded;
  const whole = await documentOf(loaded, file, flags, context);
  if (whole?.ok === false) return refusal(whole.reason, false);
  const card = whole?.text ?? null;
  const { output } = flags;
  if (output === undefined) return done(card ?? `${agentsMdBlock(manifest, file)}\n`);
  const [source, target] = [resolve(context.cwd, file), resolve(context.cwd, output)];
  const name = printable(output);
  if (await isSameFile(source, target)) return failed(`error: cannot write ${name}: ${OVERWRITES_INPUT}\n`);
  let before: string;
  try {
    // A card needs nothing of the file, which may be a pipe.
    before = card === null ? await textOf(target) : '';
  } catch (error) {
    return failed(`error: cannot read ${name}: ${readCauseOf(error)}\n`);
  }
  const block = agentsMdBlock(manifest, relative(dirname(target), source));
  const replaced = { ok: true, text: card ?? '' } as const;
  const next = card === null ? withAgentsMdBlock(before, manifest.metadata.name, block) : replaced;
  if (!next.ok) return failed(`error: ${name} ${next.reason}; nothing was written\n`);
  if (next.text === before) return done(`${name} is up to date\n`);
  const problem = await writeProblem(target, output, next.text);
  return problem === null ? done(`wrote ${name}\n`) : refusal(problem, false);
}

/** The whole output; null: a block in another file. */
async function documentOf(
  loaded: LoadedManifest & { ok: true },
  file: string,
  { format, url, specVersion }: ExportFlags,
  context: CliContext,
): Promise<BillOfMaterials | null> {
  if (format === 'agents-md-block') return null;
  if (format === 'agentcard') return { ok: true, text: json(cardOf(loaded.manifest)) };
  return billOfMaterials(loaded, { file, url, specVersion, cwd: context.cwd });
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
