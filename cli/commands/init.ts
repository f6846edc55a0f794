import { writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { FORMATS } from '../../core/manifest/schema-node.ts';
import type { Ask, CliContext } from '../context.ts';
import { fileFailure } from '../file-failure.ts';
import { makeFolder } from '../make-folder.ts';
import { done, failed, type Rendered } from '../rendered.ts';

/** What the first manifest of an agent is made from. */
export interface Answers {
  name: string;
  description: string;
  provider: string;
  model: string;
}

/** Providers that `init` knows a model and the usual variable for; any other name works as well. */
const DEFAULT_MODELS: ReadonlyMap<string, string> = new Map([
  ['openai', 'gpt-4.1-mini'],
  ['anthropic', 'claude-sonnet-4-5'],
  ['google', 'gemini-2.5-flash'],
  ['mistral', 'mistral-small-latest'],
  ['groq', 'llama-3.3-70b-versatile'],
  ['cohere', 'command-a-03-2025'],
]);

/** `init [dir]`: writes `agent.yaml`, asking where somebody can answer. An existing file stays as it is. */
export async function init(dir: string, options: { yes: boolean }, context: CliContext): Promise<Rendered> {
  const folder = resolve(context.cwd, dir);
  const file = join(folder, 'agent.yaml');
  const shownFile = relative(context.cwd, file) || file;
  const answers = await answersFor(folder, options.yes ? null : context.ask);
  if (answers === null) return failed('ended without an answer: nothing was written\n');
  const text = manifestText(answers);
  const parsed = parseManifest(text);
  if (!parsed.ok) return failed(`these answers make no manifest: ${parsed.problems[0]?.message ?? ''}\n`);
  try {
    await makeFolder(folder);
    // wx: the check and the write are one step, so that nothing can come between them.
    await writeFile(file, text, { flag: 'wx' });
  } catch (error) {
    return failed(`${shownFile} ${rejectionOf(error)}\n`);
  }
  return done(
    `wrote ${shownFile}\nnext: platform validate ${shownFile}, then platform health ${shownFile}\n`,
  );
}

function rejectionOf(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code === 'EEXIST') return 'is already there: nothing was written';
  return `cannot be written: ${fileFailure(error, { ENOENT: 'no folder can be made there' })}`;
}

async function answersFor(folder: string, ask: Ask | null): Promise<Answers | null> {
  const fallback: Answers = {
    name: nameFrom(basename(folder)),
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

function nameFrom(folder: string): string {
  const name = folder
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

/** The manifest that `init` writes. Answers are JSON strings, which are YAML strings too, whatever they hold. */
export function manifestText({ name, description, provider, model }: Answers): string {
  return `# Declares this agent. Every key: platform validate --schema
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
    # The key itself stays out of this file: $env:VAR or $secret:name.
    apiKey: $env:${keyVariable(provider)}
  # Declared guardrails must show in the agent's reports; a report without any loses points.
  guardrails:
    input:
      - type: prompt-injection
        action: block
`;
}
