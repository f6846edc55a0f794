import { basename, join, relative, resolve } from 'node:path';
import { describeProblem } from '../../core/manifest/describe-problem.ts';
import { keyVariable, labelFrom } from '../../authoring/import/names.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { FORMATS } from '../../core/manifest/schema-node.ts';
import { VENDOR_CODE, type VendorName } from '../../core/vendors/vendors.ts';
import type { AddCommand, Ask, CliContext } from '../context.ts';
import { createFile } from '../create-file.ts';
import { modelineFor, writeEditorSchema } from '../editor-schema.ts';
import { causeOf, fileFailure } from '../file-failure.ts';
import type { SourceOptions } from '../import/read-source.ts';
import { makeDirectory } from '../make-directory.ts';
import { done, failed, printable, shellWord, type Rendered } from '../rendered.ts';

interface InitFlags extends SourceOptions {
  yes?: true;
  /** Source as typed; absent: a first manifest from questions. */
  from?: string;
}

export const addInit: AddCommand = (program, context, finish) => {
  program
    .command('init')
    .summary('write a first manifest')
    .description(
      'Writes a first agent.yaml to a directory, from answers or from an existing description of the agent, with a line by which editors find its schema. Never overwrites an existing file.',
    )
    .argument('[dir]', 'target directory', '.')
    .option('--yes', 'use the defaults without prompts (implied without a terminal)')
    .option(
      '--from <source>',
      'convert a kagent Agent, an A2A agent card or an MCP server.json: a file, - for standard input, a URL, or kagent:<namespace>/<name> in the cluster',
    )
    .option('--kubeconfig <file>', 'with --from kagent: path to a kubeconfig')
    .option('--context <name>', 'with --from kagent: context in the kubeconfig')
    .addHelpText('after', HELP)
    .action(async (dir: string, flags: InitFlags) => finish(await init(dir, flags, context)));
};

const HELP = `
Examples:
  $ platform init
  $ platform init agents/travel --yes
  $ platform init agents/travel --from https://travel.example.com/.well-known/agent-card.json
  $ platform init agents/helper --from kagent:team/helper
  $ kubectl get agents.kagent.dev helper -n team -o yaml | platform init --from -

The format of a source is recognized by its content. What the source does not have is a placeholder in the manifest. What has
no place in a manifest is listed. A source has at most 1 MiB; a URL must respond within 15 seconds, with at most 5 redirects.

The first line of the manifest names its JSON Schema for completion in editors: the one of the package agent-compliance if
it is installed in a parent directory, else the file agent.schema.json, which is written next to the manifest.

Exit codes: 0 written; 1 not written.`;

/** Input for the first manifest of an agent. */
interface Answers {
  name: string;
  description: string;
  provider: string;
  model: string;
}

/** A text for the new file, with lines for the user, or why there is none. */
type Composed = { ok: true; text: string; notes: string[] } | { ok: false; errors: string };

/** Writes `agent.yaml`, with questions on a terminal. An existing file is never changed. */
async function init(dir: string, flags: InitFlags, context: CliContext): Promise<Rendered> {
  const directory = resolve(context.cwd, dir);
  const file = join(directory, 'agent.yaml');
  const shownFile = relative(context.cwd, file) || file;
  if (flags.from === undefined && (flags.kubeconfig !== undefined || flags.context !== undefined))
    return failed('error: --kubeconfig and --context are only for --from kagent:<namespace>/<name>\n');
  const composed = await (flags.from === undefined
    ? composeFirst(directory, flags.yes ? null : context.ask)
    : composeFrom(flags.from, directory, flags, context));
  if (!composed.ok) return failed(composed.errors);
  const modeline = modelineFor(directory);
  try {
    await makeDirectory(directory);
    await createFile(file, modeline.line + composed.text);
  } catch (error) {
    return failed(`error: ${failureOf(error, shownFile)}\n`);
  }
  let files = shownFile;
  try {
    if (modeline.file !== null && (await writeEditorSchema(modeline.file)))
      files += ` and ${relative(context.cwd, modeline.file)}`;
  } catch (error) {
    return failed(`error: wrote ${shownFile}, but not its schema for editors: ${causeOf(error)}\n`);
  }
  const word = shellWord(shownFile);
  const next = `next: platform validate ${word}, then platform health ${word}\n`;
  return { ...done(`wrote ${files}\n${next}`), errors: composed.notes.join('') };
}

function failureOf(error: unknown, file: string): string {
  const { code, syscall } = error as NodeJS.ErrnoException;
  // mkdir fails with the same code if the directory is a file.
  if (code === 'EEXIST' && syscall === 'open') return `${file} already exists; nothing was written`;
  return `cannot write ${file}: ${fileFailure(error, { ENOENT: 'the directory cannot be created' })}`;
}

/** Converts `from`. Values without a place in the manifest become notes. */
async function composeFrom(
  from: string,
  directory: string,
  options: SourceOptions,
  context: CliContext,
): Promise<Composed> {
  const { readSource } = await import('../import/read-source.ts');
  const read = await readSource(from, options, context);
  if (!read.ok) return { ok: false, errors: `error: ${printable(read.reason)}\n` };
  const { importManifest } = await import('../../authoring/import/import-manifest.ts');
  const imported = importManifest(read.text, nameFrom(basename(directory)));
  if (imported.ok) {
    const notes = imported.unused.map((path) => `note: not imported: ${printable(path)}\n`);
    return { ok: true, text: imported.text, notes };
  }
  const problems = imported.problems.map((problem) => describeProblem(read.name, problem));
  const lines = [`${read.name} ${imported.reason}`, ...problems];
  return { ok: false, errors: lines.map((line) => `error: ${printable(line)}\n`).join('') };
}

async function composeFirst(directory: string, ask: Ask | null): Promise<Composed> {
  const answers = await answersFor(directory, ask);
  const failure = (reason: string): Composed => ({ ok: false, errors: `error: ${reason}\n` });
  if (answers === null) return failure('input ended before all questions were answered; nothing was written');
  const text = manifestText(answers);
  const parsed = parseManifest(text);
  if (parsed.ok) return { ok: true, text, notes: [] };
  return failure(`these answers do not make a valid manifest: ${parsed.problems[0]?.message ?? ''}`);
}

async function answersFor(directory: string, ask: Ask | null): Promise<Answers | null> {
  const fallback: Answers = {
    name: nameFrom(basename(directory)),
    description: 'An agent.',
    provider: 'openai',
    model: modelOf('openai'),
  };
  if (ask === null) return fallback;
  try {
    const name = await askName(ask, fallback.name);
    const description = await ask('What does it do?', fallback.description);
    const provider = await ask('Model provider', fallback.provider);
    const model = await ask('Model', modelOf(provider));
    return { name, description, provider, model };
  } catch {
    return null;
  }
}

async function askName(ask: Ask, fallback: string): Promise<string> {
  for (;;) {
    const name = await ask('Name of the agent (lower-case letters, digits, hyphens)', fallback);
    if (new RegExp(FORMATS.dnsLabel.pattern).test(name)) return name;
  }
}

/** The default model; providers without one are accepted too. */
function modelOf(provider: string): string {
  const name = provider.toLowerCase();
  const code = Object.hasOwn(VENDOR_CODE, name) ? VENDOR_CODE[name as VendorName] : undefined;
  return code?.firstModel ?? 'model-id';
}

const nameFrom = (directory: string): string => labelFrom(directory) ?? 'my-agent';

/** The manifest that `init` writes. Answers become JSON strings, which are valid YAML with any content. */
function manifestText({ name, description, provider, model }: Answers): string {
  return `# Manifest of this agent. All keys: platform validate --schema
apiVersion: platform.io/v1
kind: PlatformAgent
metadata:
  name: ${name}
  version: 0.1.0
  description: ${JSON.stringify(description)}
spec:
  model:
    provider: ${JSON.stringify(provider)}
    id: ${JSON.stringify(model)}
    # Do not put the key into this file; use $env:VAR or $secret:name.
    apiKey: $env:${keyVariable(provider)}
  # The agent's reports must list declared guardrails; a report without them loses points.
  guardrails:
    input:
      - type: prompt-injection
        action: block
`;
}
