import { join, resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { planDeployment } from '../../authoring/deploy/plan.ts';
import { parseImage } from '../../authoring/deploy/image.ts';
import { DEPLOY_TARGETS, deployFiles, nextSteps, type DeployTarget } from '../../authoring/deploy/targets.ts';
import { ENV_PLATFORM, envPlatformFile } from '../../authoring/scaffold/env-platform.ts';
import { FRAMEWORKS, type Framework } from '../../authoring/scaffold/frameworks.ts';
import type { GeneratedFile } from '../../authoring/scaffold/generated-file.ts';
import { present } from '../../core/untrusted/present.ts';
import { PROVIDERS, type ProviderName } from '../../llm/provider.ts';
import type { LoadedManifest } from '../../runtime/manifest-file.ts';
import { VERSION } from '../../runtime/version.ts';
import { notFound } from '../admin-key.ts';
import type { AddCommand, CliContext } from '../context.ts';
import type { GeneratedProject } from '../generate/framework.ts';
import { replacedFiles, writeTree } from '../generate/write-tree.ts';
import { invalidManifest, load } from '../load.ts';
import { ManifestArgument } from '../manifest-argument.ts';
import { done, failed, printable, shellWord, type Rendered } from '../rendered.ts';

interface GenerateFlags {
  framework?: Framework;
  deploy?: DeployTarget;
  image?: string;
  push?: true;
  /** Directory, as typed. */
  output: string;
  dryRun?: true;
  force?: true;
  provider?: ProviderName;
}

export const addGenerate: AddCommand = (program, context, finish) => {
  program
    .command('generate')
    .summary('generate a project or deployment files from a manifest')
    .description(
      'Generates the project of an agent for a framework, or the files that deploy an agent with its sidecar. Deployment files depend only on the manifest; a project also needs an LLM provider.',
    )
    .addArgument(new ManifestArgument())
    .addOption(
      single(
        new Option('--framework <framework>', 'generate a project for this framework').choices(FRAMEWORKS),
      ),
    )
    .addOption(
      single(
        new Option('--deploy <target>', 'generate Kubernetes manifests or a Helm chart').choices(
          DEPLOY_TARGETS,
        ),
      ),
    )
    .option('--image <image>', 'with --deploy: the image of the agent')
    .option('--push', 'also write .env.platform with placeholders for PLATFORM_URL and PLATFORM_KEY')
    .option('--output <dir>', 'output directory', './generated')
    .option('--dry-run', 'print the files and write nothing')
    .option('--force', 'replace existing files that have other content')
    .addOption(
      new Option('--provider <name>', 'with --framework: the LLM provider; default: chosen automatically')
        // The order of the providers is the order of the automatic selection.
        .choices(PROVIDERS),
    )
    .addHelpText('after', HELP)
    .action(async (file: string, flags: GenerateFlags) => finish(await generate(file, flags, context)));
};

const HELP = `
Examples:
  $ platform generate agent.yaml --deploy k8s --image registry.example.com/agent:1.0.0
  $ platform generate agent.yaml --deploy helm --output deploy --push
  $ platform generate agent.yaml --framework langgraph --deploy k8s
  $ platform generate agent.yaml --deploy k8s --dry-run

--deploy writes k8s/ with files for kubectl apply, or helm/ with a chart. The pods contain their sidecar, so that they need
neither the injector nor an annotation. With --push, the sidecar sends heartbeats with the values of .env.platform.
--framework copies the prompt files of the manifest. If there is no system prompt, the model writes one. If no LLM provider is
ready, --framework with --deploy writes only the deployment files, with a warning.
If an existing file has other content, nothing is written without --force. An existing .env.platform and a system prompt that the model
wrote are always kept.

Exit codes: 0 written or printed; 1 the manifest, an option or a target is not valid, the project could not be generated, or a
file has other content or cannot be written.`;

/** An option that is given once, because the last of several values would replace the others silently. */
function single(option: Option): Option {
  const { parseArg } = option;
  return option.argParser<string>((value, previous) => {
    if (previous !== undefined)
      throw new InvalidArgumentError('Give the option once, and generate each target by itself.');
    return parseArg?.(value, value) ?? value;
  });
}

type Generated =
  /** `warning`: a line for standard error, or empty. */
  | { ok: true; files: GeneratedFile[]; next: string[]; notes: string[]; warning: string }
  | { ok: false; reason: string };

/** What is generated, and where. */
interface Job {
  loaded: LoadedManifest & { ok: true };
  /** Path of the manifest. */
  path: string;
  flags: GenerateFlags;
  context: CliContext;
}

async function generate(file: string, flags: GenerateFlags, context: CliContext): Promise<Rendered> {
  const problem = optionProblem(flags);
  if (problem !== null) return failed(`error: ${problem}\n`);
  const loaded = await load(file, context);
  if (!loaded.ok) return invalidManifest(loaded, false);
  const job = { loaded, path: resolve(context.cwd, file), flags, context };
  const generated = await generatedFiles(job);
  if (!generated.ok) return failed(`error: ${generated.reason}\n`);
  if (flags.dryRun) return await dryRun(generated, job);
  const written = await writeTree(generated.files, outputOf(job), flags.force === true);
  if (written.ok) return report(written, generated, flags);
  const reason =
    'reason' in written
      ? cannotWrite(written.reason, flags)
      : conflict(written.conflicts, 'has other content', flags);
  return failed(`error: ${reason}\n`);
}

const outputOf = ({ flags, context }: Job): string => resolve(context.cwd, flags.output);

const cannotWrite = (reason: string, { output }: GenerateFlags): string =>
  `cannot write ${printable(output)}: ${reason}`;

function conflict(paths: readonly string[], problem: string, flags: GenerateFlags): string {
  const lines = paths.map((path) => `${shownPath(path, flags)} ${problem}; pass --force to replace it\n`);
  return [...lines, 'nothing was written'].join('error: ');
}

/** The files on standard output, and on standard error what a run would refuse. */
async function dryRun({ files, notes, warning }: Generated & { ok: true }, job: Job): Promise<Rendered> {
  const { flags } = job;
  const found = await replacedFiles(files, outputOf(job), false);
  const refused = found.ok
    ? found.replaced.map(
        (path) =>
          `${shownPath(path, flags)} has other content; ${flags.force ? 'it would be replaced' : 'without --force, nothing would be written'}`,
      )
    : [cannotWrite(found.reason, flags)];
  return {
    ...done(files.map((each) => shownFile(each, flags)).join('\n')),
    errors: warning + notesText([...notes, ...refused]),
  };
}

function optionProblem({ framework, deploy, push, provider, image }: GenerateFlags): string | null {
  if (framework === undefined && deploy === undefined && push === undefined)
    return 'pass --framework for a project, or --deploy for deployment files';
  if (provider !== undefined && framework === undefined) return '--provider is only for --framework';
  if (image === undefined) return null;
  if (deploy === undefined) return '--image is only for --deploy';
  return parseImage(image) === null ? `--image ${printable(image)} is not a valid image name` : null;
}

/** The deployment first, because it costs nothing to find out that it is not possible. */
async function generatedFiles(job: Job): Promise<Generated> {
  const { manifest, text } = job.loaded;
  const { framework, deploy, push, output, image } = job.flags;
  const files: GeneratedFile[] = [];
  const next: string[] = [];
  if (deploy !== undefined) {
    const planned = planDeployment(manifest, {
      manifestText: text,
      sidecarImage: `agent-compliance/sidecar:${VERSION}`,
      sendsHeartbeats: push === true,
      ...present({ agentImage: image }),
    });
    if (!planned.ok) return planned;
    files.push(...deployFiles(deploy, planned.plan));
    const paths = {
      directory: shellWord(join(output, deploy)),
      envFile: shellWord(join(output, ENV_PLATFORM)),
    };
    next.push(...nextSteps(deploy, planned.plan, paths));
  }
  if (push) files.push(envPlatformFile(manifest.metadata.name));
  if (framework === undefined) return { ok: true, files, next, notes: [], warning: '' };
  const project = await projectFiles(job, framework, files);
  if (project.ok)
    return { ok: true, files: [...project.files, ...files], next, notes: project.notes, warning: '' };
  if (deploy === undefined || project.isReady !== false) return project;
  // The deployment files need no provider.
  const reason = project.reason.split('\n').map(printable).join('\n');
  const warning = `warning: the project for ${framework} was not generated: ${reason}\n`;
  return { ok: true, files, next, notes: [], warning };
}

/**
 * The generator is loaded late, because it imports the clients of the LLM providers. The existing files are compared before a model is
 * called, because its response costs money.
 */
async function projectFiles(
  job: Job,
  framework: Framework,
  others: readonly GeneratedFile[],
): Promise<GeneratedProject> {
  const { manifest, text: manifestText } = job.loaded;
  const { flags, context } = job;
  const { env, progress, onInterrupt } = context;
  const { generateFramework, plannedFiles } = await import('../generate/framework.ts');
  const { readPrompts } = await import('../generate/read-prompts.ts');
  const prompts = await readPrompts(manifest, job.path);
  if (!prompts.ok) return prompts;
  const options = { framework, env, manifestText, texts: prompts.texts };
  if (!flags.force && !flags.dryRun) {
    const planned = [...plannedFiles(manifest, options), ...others];
    const found = await replacedFiles(planned, outputOf(job), true);
    if (!found.ok) return notFound(cannotWrite(found.reason, flags));
    if (found.replaced.length > 0) return notFound(conflict(found.replaced, 'exists', flags));
  }
  return generateFramework(manifest, {
    ...options,
    ...present({ provider: flags.provider, progress, signal: onInterrupt?.() }),
  });
}

const shownPath = (path: string, { output }: GenerateFlags): string => printable(join(output, path));

/** A generated file in the form of `head`. Its lines are made printable one by one. */
function shownFile({ path, content }: GeneratedFile, flags: GenerateFlags): string {
  return `==> ${shownPath(path, flags)} <==\n${content.replaceAll(/[^\n\t]+/g, printable)}`;
}

function report(
  { written, kept }: { written: readonly string[]; kept: readonly string[] },
  { next, notes, warning }: Generated & { ok: true },
  flags: GenerateFlags,
): Rendered {
  const lines = [
    ...written.map((path) => `wrote ${shownPath(path, flags)}`),
    ...(written.length === 0 ? [`${printable(flags.output)} is up to date`] : []),
    ...next.map((step) => `next: ${step}`),
  ];
  const keptNotes = kept.map((path) => `${shownPath(path, flags)} exists and was kept`);
  return { ...done(`${lines.join('\n')}\n`), errors: warning + notesText([...notes, ...keptNotes]) };
}

const notesText = (notes: readonly string[]): string =>
  notes.map((note) => `note: ${printable(note)}\n`).join('');
