import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { integer, isOverLimit, type AnnotationKind } from '../../core/injection/annotation-kinds.ts';
import {
  annotationDefaults,
  ANNOTATIONS,
  DEFAULTED,
  type AnnotationDefaults,
} from '../../core/injection/annotations.ts';
import { injectManifests } from '../../core/injection/inject-manifests.ts';
import type { InjectionSettings } from '../../core/injection/settings.ts';
import { withConfigHash } from '../../runtime/injection-config.ts';
import { VERSION } from '../../runtime/version.ts';
import { changeFiles, type Target } from '../change-files.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { httpUrl, secretUrl } from '../option-values.ts';
import { formatOption, jsonOption } from '../output-options.ts';
import { readCauseOf } from '../file-failure.ts';

interface InjectFlags extends Target, AnnotationDefaults {
  image: string;
  imagePullPolicy: InjectionSettings['imagePullPolicy'];
  engine: 'builtin' | 'opa' | 'none';
  opaImage?: string;
  platformUrl?: URL;
  caFile?: string;
  heartbeatSeconds: number;
  otlpCollector?: URL;
}

export const addInject: AddCommand = (program, context, finish) => {
  const command = program
    .command('inject')
    .summary('add the sidecar to the workloads in manifests')
    .description(
      'Adds the sidecar to Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs, CronJobs, Pods and Lists, as the injector in a cluster does. Comments, order and quotes are kept; spaces and line breaks may change.',
    )
    .argument('<paths...>', 'files, directories with .yaml, .yml and .json files, or - for standard input');
  for (const option of injectOptions()) command.addOption(option);
  command
    .option('--output <path>', 'write to a file, or to a directory for several inputs')
    .addOption(jsonOption('{injected, skipped, refused, passed, files[]}'))
    .addOption(formatOption())
    .addHelpText('after', HELP)
    .action(async (paths: string[], flags: InjectFlags) => {
      const settings = settingsOf(flags, command, context);
      const change = (text: string) => injectManifests(text, settings, flags.agentName);
      finish(await changeFiles(paths, { done: 'injected', change }, flags, context));
    });
};

const HELP = `
Examples:
  $ platform inject deployment.yaml | kubectl apply -f -
  $ helm template my-chart | platform inject - --mode enforce | kubectl apply -f -
  $ platform inject manifests --output injected --json

Annotations of a workload, such as platform.io/agent-port, override the options. platform.io/inject: "false" skips the
workload. If a workload is refused, nothing is written, so that no workload is applied without its sidecar.

Exit codes: 0 written; 1 a workload was refused, or an input cannot be read.`;

/** The counterparts of the chart values of an installation in a cluster. */
function injectOptions(): Option[] {
  const read = <T>(flags: string, text: string, kind: AnnotationKind<T>): Option =>
    new Option(flags, text).argParser(like(kind));
  return [
    read('--agent-name <name>', "name of the agent (default: the workload's name)", ANNOTATIONS.agentName),
    read('--image <image>', 'image of the sidecar', ANNOTATIONS.image).default(
      `agent-compliance/sidecar:${VERSION}`,
    ),
    choice('--image-pull-policy <policy>', 'pull policy of the added containers', [
      'IfNotPresent',
      'Always',
      'Never',
    ]),
    choice('--engine <engine>', 'policy engine', ['builtin', 'opa', 'none']),
    read('--opa-image <image>', 'image of Open Policy Agent, for --engine opa', ANNOTATIONS.image),
    ...defaultOptions(),
    new Option(
      '--platform-url <url>',
      'URL of the control plane; without it the sidecar sends no heartbeats',
    ).argParser(secretUrl),
    new Option(
      '--ca-file <file>',
      "PEM file with the CA certificates that verify the control plane's certificate",
    ),
    read('--heartbeat-seconds <n>', 'seconds between two heartbeats', integer(10, 3600)).default(30),
    new Option(
      '--otlp-collector <url>',
      'base URL of the collector to which sidecars with platform.io/otlp forward OTLP',
    ).argParser(httpUrl),
  ];
}

const choice = (flags: string, text: string, [first, ...others]: string[]): Option =>
  new Option(flags, text).choices([first ?? '', ...others]).default(first);

/** One option for each annotation with a chart default, such as `--log-level <level>` for `logLevel`. */
function defaultOptions(): Option[] {
  return DEFAULTED.map(([key, { summary, chart, ...kind }]) => {
    const words = key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const isBoolean = kind.schema['type'] === 'boolean';
    const flags = `--${words} <${isBoolean ? 'true|false' : words.slice(words.lastIndexOf('-') + 1)}>`;
    const text = summary.replaceAll(/^The |`|\.( .*)?$/g, '');
    return kind.schema.enum
      ? choice(flags, text, [...new Set([chart.default, ...kind.schema.enum])].map(String))
      : new Option(flags, text).argParser(like(kind)).default(chart.default);
  });
}

/** An option accepts the same values as the corresponding annotation. */
const like =
  <T>(kind: AnnotationKind<T>) =>
  (raw: string): T => {
    const read = kind.read(raw);
    if (!read.ok) throw new InvalidArgumentError(`Must be ${kind.allowed}.`);
    return read.value;
  };

/** Ends the command with a usage error if options contradict each other. */
function settingsOf(flags: InjectFlags, command: Command, { cwd }: CliContext): InjectionSettings {
  for (const [request, limit] of [
    ['cpuRequest', 'cpuLimit'],
    ['memoryRequest', 'memoryLimit'],
  ] as const)
    if (isOverLimit(flags[request], flags[limit]))
      command.error(
        `error: the ${request.replace('R', ' r')} ${flags[request]} exceeds the limit ${flags[limit]}`,
      );
  if (flags.caFile !== undefined && flags.platformUrl === undefined)
    command.error('error: --ca-file requires --platform-url');
  if ((flags.opaImage !== undefined) !== (flags.engine === 'opa'))
    command.error(
      'error: --engine opa and --opa-image must be used together; an image is, for example, openpolicyagent/opa:1.22.0-static',
    );
  const settings: Omit<InjectionSettings, 'ca' | 'configHash'> = {
    ...annotationDefaults((key) => flags[key]),
    image: flags.image,
    imagePullPolicy: flags.imagePullPolicy,
    allowedImages: [],
    engine:
      flags.opaImage === undefined
        ? (flags.engine as 'builtin' | 'none')
        : { image: flags.opaImage, resources: ENGINE_RESOURCES },
    minimumMode: 'off',
    minimumCompliantGrade: 'F',
    minimumCompliantEvidence: 0,
    heartbeatSeconds: flags.heartbeatSeconds,
    organisationOnUnknown: 'start',
    controlPlaneUrl: flags.platformUrl?.href.replace(/\/$/, '') ?? null,
    proofWrites: 'local',
    llmAnalysis: null,
    otlpCollector: flags.otlpCollector?.href.replace(/\/$/, '') ?? null,
    version: VERSION,
  };
  const ca = flags.caFile === undefined ? null : certificates(flags.caFile, command, cwd);
  return { ...withConfigHash(settings), ca };
}

const ENGINE_RESOURCES = { cpuRequest: '10m', cpuLimit: '500m', memoryRequest: '96Mi', memoryLimit: '192Mi' };

function certificates(file: string, command: Command, cwd: string): string {
  let text: string;
  try {
    text = readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    return command.error(`error: --ca-file ${file}: ${readCauseOf(error)}`);
  }
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  return command.error(`error: --ca-file ${file}: contains no PEM certificate`);
}
