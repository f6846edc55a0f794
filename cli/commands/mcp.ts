import { InvalidArgumentError } from 'commander';
import { present } from '../../core/untrusted/present.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { done, failed, type Rendered } from '../rendered.ts';

interface McpFlags {
  /** Directories below which manifests may be read; absent: the working directory. */
  root?: string[];
  allowWrites?: boolean;
  settings?: string;
}

export const addMcp: AddCommand = (program, context, finish) => {
  program
    .command('mcp')
    .summary('serve a coding assistant over the Model Context Protocol')
    .description(
      'Serves the Model Context Protocol on standard input and output, until the input ends. A coding assistant starts this command. Its tools explain, validate, audit and compare manifests, and read the reports of running agents.',
    )
    .option(
      '--root <dir>',
      'directory below which manifests may be read; repeatable; default: the working directory',
      collectRoot,
    )
    .option(
      '--settings <file>',
      'JSON file with the settings sidecarUrl, cluster.controlPlaneUrl and cluster.adminKey, such as .vscode/settings.json; variables override them',
    )
    .option('--allow-writes', 'also offer the tool submit_proof; without it every tool is read-only')
    .addHelpText('after', HELP)
    .action(async (flags: McpFlags) => finish(await mcp(flags, context)));
};

const HELP = `
Examples:
  $ platform mcp
  $ platform mcp --root agents --root services/shop
  $ claude mcp add agent-compliance -e PLATFORM_SIDECAR_URL=http://localhost:4001 -- platform mcp

PLATFORM_SIDECAR_URL is the control port of a sidecar (sidecar mode). PLATFORM_CONTROL_PLANE_URL and PLATFORM_ADMIN_KEY are
the URL and the admin key of a control plane (operator mode). Arguments of a call override them (sidecarUrl,
controlPlaneUrl, adminKey). PLATFORM_ADMIN_KEY is sent only to PLATFORM_CONTROL_PLANE_URL. In the file of --settings, the names
can also start with agentCompliance. docs/guide/editors.md has the settings of common assistants.

Exit codes: 0 the input ended, or SIGTERM or Ctrl-C; 1 a directory of --root or the file of --settings
cannot be read.`;

function collectRoot(value: string, before: string[] = []): string[] {
  if (value === '') throw new InvalidArgumentError('Must not be empty.');
  return [...before, value];
}

async function mcp(
  { root: roots = ['.'], allowWrites = false, settings }: McpFlags,
  context: CliContext,
): Promise<Rendered> {
  if (context.stdio === undefined) return failed('error: there is no standard input\n');
  if (context.ask !== null)
    context.warn?.('waiting for messages of the Model Context Protocol on standard input; Ctrl-C ends this');
  const { serveMcp } = await import('../mcp/main.ts');
  const options = { roots, allowWrites, ...present({ settings }) };
  const reason = await serveMcp(options, context, context.stdio());
  return reason === null ? done('') : failed(`error: ${reason}\n`);
}
