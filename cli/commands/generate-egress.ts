import { dirname, resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { fenceOf, fenceText, type FenceKind } from '../../authoring/deploy/network-policy.ts';
import { ANNOTATIONS } from '../../core/injection/annotations.ts';
import { isDnsLabel, NAME_LABEL } from '../../core/injection/names.ts';
import { present } from '../../core/untrusted/present.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { isSameFile, OVERWRITES_INPUT } from '../file-failure.ts';
import { writeProblem } from '../write-problem.ts';
import { invalidManifest, load } from '../load.ts';
import { ManifestArgument } from '../manifest-argument.ts';
import { Alias, formatOption, jsonOption, type FormatFlags } from '../output-options.ts';
import { done, json, printable, refusal, type Rendered } from '../rendered.ts';

/** The kinds of policies by the value of `--kind`. */
const KINDS = {
  kubernetes: 'NetworkPolicy',
  cilium: 'CiliumNetworkPolicy',
} as const satisfies Record<string, FenceKind>;

interface EgressFlags extends FormatFlags {
  kind: keyof typeof KINDS;
  namespace?: string;
  controlPlaneNamespace: string;
  /** Path of the file, as typed; absent: standard output. */
  output?: string;
}

export const addGenerateEgress: AddCommand = (program, context, finish) => {
  program
    .command('generate-egress')
    .summary('generate a network policy from a manifest')
    .description(
      "Generates a policy that restricts the connections of an agent's pods to what its manifest declares: vendors of models, MCP servers, services, memory and spec.egress.hosts. The policy applies to the sidecar too.",
    )
    .addArgument(new ManifestArgument())
    .addOption(
      new Option('--kind <kind>', 'kubernetes: addresses and ports only; cilium: also names of hosts')
        .choices(Object.keys(KINDS))
        .default('kubernetes'),
    )
    .option('-n, --namespace <namespace>', "the agent's namespace; default: that of kubectl", label)
    .option(
      '--control-plane-namespace <namespace>',
      'namespace of the control plane; none: the sidecar sends no heartbeats',
      label,
      'platform-system',
    )
    .addOption(jsonOption('{policy, notes[]}'))
    .addOption(formatOption())
    .option('--output <file>', 'write to a file')
    .addOption(new Alias('--out <file>', 'output'))
    .addHelpText('after', HELP)
    .action(async (file: string, flags: EgressFlags) => finish(await generateEgress(file, flags, context)));
};

const HELP = `
Examples:
  $ platform generate-egress -n shop | kubectl apply -f -
  $ platform generate-egress agent.yaml --kind cilium --output egress.yaml

A NetworkPolicy of Kubernetes has no names of hosts, so it allows the ports of declared public hosts at every public address.
CiliumNetworkPolicy allows only the declared names. The network plugin of the cluster must implement the kind. Notes about what
the policy does not contain are comments in the output. The policy selects pods by the label platform.io/agent-name, which the
injector and "platform generate" set. With --output, a warning says if no pod in the YAML files next to the file will have it;
"platform check" finds policies that select no pod of the cluster.

Exit codes: 0 printed or written; 1 the manifest is not valid, or the file cannot be written.`;

function label(value: string): string {
  if (!isDnsLabel(value)) throw new InvalidArgumentError('Must be 1 to 63 of a-z, 0-9 and -.');
  return value;
}

async function generateEgress(file: string, flags: EgressFlags, context: CliContext): Promise<Rendered> {
  const loaded = await load(file, context);
  if (!loaded.ok) return invalidManifest(loaded, flags.json);
  const { namespace, controlPlaneNamespace, output: out } = flags;
  const options = {
    ...present({ namespace }),
    controlPlaneNamespace: controlPlaneNamespace === 'none' ? null : controlPlaneNamespace,
  };
  const kind = KINDS[flags.kind];
  const { object: policy, notes } = fenceOf(kind, loaded.manifest, options);
  const text = flags.json ? json({ policy, notes }) : fenceText(kind, loaded.manifest, options);
  if (out === undefined) return done(text);
  const path = resolve(context.cwd, out);
  if (await isSameFile(path, resolve(context.cwd, file)))
    return refusal(`cannot write ${printable(out)}: ${OVERWRITES_INPUT}`, flags.json);
  const problem = await writeProblem(path, out, text);
  if (problem !== null) return refusal(problem, flags.json);
  const { name } = loaded.manifest.metadata;
  const { hasAgentPod } = await import('../egress/pods-in-directory.ts');
  const isUnused = (await hasAgentPod(dirname(path), name).catch(() => null)) === false;
  return { ...done(`wrote ${printable(out)}\n`), errors: isUnused ? unusedText(out, name) : '' };
}

const unusedText = (out: string, name: string): string =>
  `warning: no pod in the files next to ${printable(out)} will have the label ${NAME_LABEL}: ${printable(name)}, so the policy selects none of them; set the label on the pods, or the annotation ${ANNOTATIONS.inject.name} for the injector\n`;
