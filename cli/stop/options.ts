import { Option, type Command } from 'commander';
import type { CliContext } from '../context.ts';
import { credentialHeader, readCa, warnPlain } from '../control-plane-access.ts';
import { notEmpty, secretUrl } from '../option-values.ts';
import { Alias, formatOption, jsonOption, ReportOption, type FormatFlags } from '../output-options.ts';
import { stopsByRoutes } from './routes.ts';
import { messageOf, type Stops } from './stops.ts';

/** Options of `platform stop` and `platform resume`. */
export interface StopFlags extends FormatFlags {
  namespace?: string[];
  all?: true;
  yes?: true;
  releaseNamespace: string;
  kubeconfig?: string;
  context?: string;
  url?: URL;
  ca?: string;
  adminKeyFile?: string;
}

/** @param content the members of the JSON */
export function addStopOptions(command: Command, content: string): Command {
  return command
    .addOption(
      new Option(
        '-n, --namespace <namespace>',
        'namespace of the agents, or a pattern; repeatable',
      ).argParser((value, before: string[] | undefined) => [...(before ?? []), notEmpty(value)]),
    )
    .option('--all', 'all agents of all namespaces; asks for confirmation')
    .option('--yes', 'do not ask for confirmation; required with --all without a terminal')
    .option('--release-namespace <namespace>', 'namespace of the release', 'platform-system')
    .option(
      '--kubeconfig <file>',
      "path to a kubeconfig; default: KUBECONFIG, ~/.kube/config, the pod's service account",
    )
    .option('--context <name>', 'context in the kubeconfig; default: the current context')
    .addOption(
      new Option('--url <url>', 'URL of a control plane, to use its routes instead of the API server')
        .argParser(secretUrl)
        .conflicts(['kubeconfig', 'context', 'direct']),
    )
    .option('--ca <file>', 'PEM file with the CA certificate of the control plane')
    .option(
      '--admin-key-file <file>',
      'file with the admin key; default: your token in PLATFORM_TOKEN, else PLATFORM_ADMIN_KEY',
    )
    .addOption(jsonOption(content))
    .addOption(formatOption())
    .addOption(new Alias('-o <format>', 'format').choices(['text', 'json']))
    .addOption(new ReportOption());
}

/** The ClusterRole of the chart that permits creating and deleting AgentStops. */
const STOP_ROLE = 'agent-compliance-stop';

/** Runs `act` with the cluster, or with the control plane at `--url`. A string: why it failed, with advice. */
export async function withStops<T extends object>(
  flags: StopFlags,
  context: CliContext,
  act: (stops: Stops) => Promise<T>,
): Promise<T | string> {
  const { url, releaseNamespace: namespace, kubeconfig, context: name } = flags;
  if (url === undefined) {
    const { withClusterStops } = await import('../cluster/main.ts');
    const named = {
      ...(kubeconfig !== undefined && { kubeconfig }),
      ...(name !== undefined && { context: name }),
    };
    const result = await withClusterStops({ namespace, ...named }, context, act);
    return result.ok ? result.report : result.reason + clusterAdvice(result.reason, result.isTransient);
  }
  const credential = await credentialHeader(flags.adminKeyFile, context);
  if (!credential.ok) return credential.reason;
  const ca = await readCa(flags.ca, url, context);
  if (!ca.ok) return ca.reason;
  warnPlain(url, 'the admin key or the token is', context);
  return act(stopsByRoutes({ base: url, headers: credential.value, ca: ca.value })).catch(messageOf);
}

function clusterAdvice(reason: string, isUnreachable: boolean): string {
  if (isUnreachable)
    return '; --url with the address of the control plane still reaches the sidecars that are connected to it';
  const [, user] = /User "([^"]+)" cannot (?:create|delete|list) resource "agentstops"/.exec(reason) ?? [];
  if (user !== undefined)
    return `; an administrator can permit it: kubectl create rolebinding stop-agents -n NAMESPACE --clusterrole ${STOP_ROLE} --user ${user}`;
  if (/requested resource|page not found/.test(reason))
    return '; the cluster has no AgentStops: upgrade the chart, or scale the workload to 0: kubectl scale --replicas=0';
  return reason.startsWith('no cluster') ? ', or pass --url of a control plane' : '';
}

/** Why the command must not run for all agents; null: it may. @param effect for example "stops every agent" */
export async function problemOfAll(
  { all, yes }: StopFlags,
  effect: string,
  { ask }: Pick<CliContext, 'ask'>,
): Promise<string | null> {
  if (!all || yes) return null;
  if (ask === null) return 'without a terminal, --all requires --yes';
  const answer = await ask(`This ${effect}. Type all to continue`, 'no').catch(() => 'no');
  return answer === 'all' ? null : 'nothing was changed, because the answer is not "all"';
}
