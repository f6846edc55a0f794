import { writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { FORMATS } from '../../core/manifest/schema-node.ts';
import type { AddCommand, Ask, CliContext } from '../context.ts';
import { modelineFor, writeEditorSchema } from '../editor-schema.ts';
import { causeOf, fileFailure } from '../file-failure.ts';
import { makeDirectory } from '../make-directory.ts';
import { done, failed, type Rendered } from '../rendered.ts';

export const addInit: AddCommand = (program, context, finish) => {
  program
    .command('init')
    .summary('write a first manifest')
    .description(
      'Writes a first agent.yaml to a directory, with a line by which editors find its schema. Never overwrites an existing file.',
    )
    .argument('[dir]', 'target directory', '.')
    .option('--yes', 'use the defaults without prompts (implied without a terminal)')
    .addHelpText('after', HELP)
    .action(async (dir: string, flags: { yes?: true }) => finish(await init(dir, flags, context)));
};

const HELP = `
Examples:
  $ platform init
  $ platform init agents/travel --yes

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

/** Default model per provider; other providers are accepted too. */
const DEFAULT_MODELS: ReadonlyMap<string, string> = new Map([
  ['openai', 'gpt-4.1-mini'],
  ['anthropic', 'claude-sonnet-4-5'],
  ['google', 'gemini-2.5-flash'],
  ['mistral', 'mistral-small-latest'],
  ['groq', 'llama-3.3-70b-versatile'],
  ['cohere', 'command-a-03-2025'],
]);

/** Writes `agent.yaml`, with questions on a terminal. An existing file is never changed. */
async function init(dir: string, flags: { yes?: true }, context: CliContext): Promise<Rendered> {
  const directory = resolve(context.cwd, dir);
  const file = join(directory, 'agent.yaml');
  const shownFile = relative(context.cwd, file) || file;
  const answers = await answersFor(directory, flags.yes ? null : context.ask);
  if (answers === null)
    return failed('error: input ended before all questions were answered; nothing was written\n');
  const modeline = modelineFor(directory);
  const text = modeline.line + manifestText(answers);
  const parsed = parseManifest(text);
  if (!parsed.ok)
    return failed(
      `error: these answers do not make a valid manifest: ${parsed.problems[0]?.message ?? ''}\n`,
    );
  try {
    await makeDirectory(directory);
    // wx makes the existence check and the write one atomic step.
    await writeFile(file, text, { flag: 'wx' });
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
  return done(`wrote ${files}\nnext: platform validate ${shownFile}, then platform health ${shownFile}\n`);
}

function failureOf(error: unknown, file: string): string {
  if ((error as NodeJS.ErrnoException).code === 'EEXIST')
    return `${file} already exists; nothing was written`;
  return `cannot write ${file}: ${fileFailure(error, { ENOENT: 'the directory cannot be created' })}`;
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

const modelOf = (provider: string): string => DEFAULT_MODELS.get(provider.toLowerCase()) ?? 'model-id';

function nameFrom(directory: string): string {
  const name = directory
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, '');
  return name === '' ? 'my-agent' : name;
}

function keyVariable(provider: string): string {
  const word = provider.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
  return /^[A-Z_]/.test(word) ? `${word}_API_KEY` : 'MODEL_API_KEY';
}

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
