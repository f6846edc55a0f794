import { join, resolve } from 'node:path';
import { Option } from 'commander';
import { planDeployment } from '../../core/deploy/plan.ts';
import { DEPLOY_TARGETS, deployFiles, nextSteps, type DeployTarget } from '../../core/deploy/targets.ts';
import { envPlatformFile } from '../../core/scaffold/env-platform.ts';
import { FRAMEWORKS, type Framework } from '../../core/scaffold/frameworks.ts';
import type { GeneratedFile } from '../../core/scaffold/generated-file.ts';
import { PROVIDERS, type ProviderName } from '../../llm/provider.ts';
import type { LoadedManifest } from '../../runtime/manifest-file.ts';
import { VERSION } from '../../runtime/version.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { writeTree } from '../generate/write-tree.ts';
import { invalidManifest, load } from '../load.ts';
import { done, failed, printable, shellWord, type Rendered } from '../rendered.ts';

interface GenerateFlags {
  framework?: Framework;
  deploy?: DeployTarget;
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
    .argument('<file>', 'path to the manifest, such as agent.yaml')
    .addOption(
      new Option('--framework <framework>', 'generate a project for this framework').choices(FRAMEWORKS),
    )
    .addOption(
      new Option('--deploy <target>', 'generate Kubernetes manifests or a Helm chart').choices(
        DEPLOY_TARGETS,
      ),
    )
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
  $ platform generate agent.yaml --deploy k8s
  $ platform generate agent.yaml --deploy helm --output deploy --push
  $ platform generate agent.yaml --framework langgraph --deploy k8s
  $ platform generate agent.yaml --deploy k8s --dry-run

--deploy writes k8s/ with files for kubectl apply, or helm/ with a chart. The pods contain their sidecar, so that they need
neither the injector nor an annotation. With --push, the sidecar sends heartbeats with the values of .env.platform.
If an existing file has other content, nothing is written without --force. An existing .env.platform is always kept.

Exit codes: 0 written or printed; 1 the manifest, an option or a target is not valid, the project could not be generated, or a
file has other content or cannot be written.`;

type Generated =
  | { ok: true; files: GeneratedFile[]; next: string[]; notes: string[] }
  | { ok: false; reason: string };

async function generate(file: string, flags: GenerateFlags, context: CliContext): Promise<Rendered> {
  const problem = optionProblem(flags);
  if (problem !== null) return failed(`error: ${problem}\n`);
  const loaded = await load(file, context);
  if (!loaded.ok) return invalidManifest(loaded, false);
  const generated = await generatedFiles(loaded, flags, context);
  if (!generated.ok) return failed(`error: ${generated.reason}\n`);
  const { files } = generated;
  if (flags.dryRun)
    return {
      ...done(files.map((each) => shownFile(each, flags)).join('\n')),
      errors: notesText(generated.notes),
    };
  const written = await writeTree(files, resolve(context.cwd, flags.output), flags.force === true);
  if (written.ok) return report(written, generated, flags);
  if ('reason' in written)
    return failed(`error: cannot write ${printable(flags.output)}: ${written.reason}\n`);
  const conflicts = written.conflicts.map(
    (path) => `error: ${shownPath(path, flags)} has other content; pass --force to replace it\n`,
  );
  return failed(`${conflicts.join('')}error: nothing was written\n`);
}

function optionProblem({ framework, deploy, push, provider }: GenerateFlags): string | null {
  if (framework === undefined && deploy === undefined && push === undefined)
    return 'pass --framework for a project, or --deploy for deployment files';
  if (provider !== undefined && framework === undefined) return '--provider is only for --framework';
  return null;
}

/** The deployment first, because it costs nothing to find out that it is not possible. */
async function generatedFiles(
  loaded: LoadedManifest & { ok: true },
  { framework, provider, deploy, push, output }: GenerateFlags,
  context: CliContext,
): Promise<Generated> {
  const { manifest, text } = loaded;
  const files: GeneratedFile[] = [];
  const next: string[] = [];
  if (deploy !== undefined) {
    const planned = planDeployment(manifest, {
      manifestText: text,
      sidecarImage: `agent-compliance/sidecar:${VERSION}`,
      sendsHeartbeats: push === true,
    });
    if (!planned.ok) return planned;
    files.push(...deployFiles(deploy, planned.plan));
    next.push(...nextSteps(deploy, planned.plan, shellWord(join(output, deploy))));
  }
  if (push) files.push(envPlatformFile(manifest.metadata.name));
  if (framework === undefined) return { ok: true, files, next, notes: [] };
  const project = await projectFiles(loaded, framework, provider, context);
  if (!project.ok) return project;
  return { ok: true, files: [...project.files, ...files], next, notes: project.notes };
}

/** Loaded late, because the generator of projects imports the clients of the LLM providers. */
async function projectFiles(
  { manifest, text }: LoadedManifest & { ok: true },
  framework: Framework,
  provider: ProviderName | undefined,
  { env, progress, onInterrupt }: CliContext,
) {
  const { generateFramework } = await import('../generate/framework.ts');
  return generateFramework(manifest, {
    framework,
    env,
    manifestText: text,
    ...(provider !== undefined && { provider }),
    ...(progress !== undefined && { progress }),
    ...(onInterrupt !== undefined && { signal: onInterrupt() }),
  });
}

const shownPath = (path: string, { output }: GenerateFlags): string => printable(join(output, path));

/** A generated file in the form of `head`. Its lines are made printable one by one. */
function shownFile({ path, content }: GeneratedFile, flags: GenerateFlags): string {
  return `==> ${shownPath(path, flags)} <==\n${content.replaceAll(/[^\n\t]+/g, printable)}`;
}

function report(
  { written, kept }: { written: readonly string[]; kept: readonly string[] },
  { next, notes }: { next: readonly string[]; notes: readonly string[] },
  flags: GenerateFlags,
): Rendered {
  const lines = [
    ...written.map((path) => `wrote ${shownPath(path, flags)}`),
    ...(written.length === 0 ? [`${printable(flags.output)} is up to date`] : []),
    ...next.map((step) => `next: ${step}`),
  ];
  const keptNotes = kept.map((path) => `${shownPath(path, flags)} exists and was kept`);
  return { ...done(`${lines.join('\n')}\n`), errors: notesText([...notes, ...keptNotes]) };
}

const notesText = (notes: readonly string[]): string =>
  notes.map((note) => `note: ${printable(note)}\n`).join('');
