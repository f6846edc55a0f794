import { resolve } from 'node:path';
import {
  declaredEgressOf,
  isDeclaredModel,
  isDeclaredTool,
  listedTools,
  MCP_LANE,
  mcpToolsIn,
} from '../../core/egress/declared.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { baseUrlsIn } from '../../authoring/scan/base-urls.ts';
import type { ShownCall, ShownRow } from '../egress/reports.ts';
import { printable } from '../rendered.ts';
import { plural } from '../table.ts';
import type { RunLane } from './lanes-of-run.ts';
import { toolsOf } from './live-calls.ts';
import type { PortName, Ports, WantedPort } from './ports.ts';

interface Start {
  ports: Ports;
  lanes: readonly RunLane[];
  /** The ports before those that are in use were replaced. */
  wanted: Readonly<Record<PortName, WantedPort>>;
}

/** The lines at the start of a run: one per address. */
export function startLines({ ports, lanes, wanted }: Start): string[] {
  const moved = (name: PortName): string =>
    ports[name] === wanted[name].port ? '' : ` (${wanted[name].port} is in use)`;
  const at = (name: PortName): string => `http://127.0.0.1:${ports[name]}`;
  const observe = moved('control') === '' ? '' : ` --url ${at('control')}`;
  const agent = moved('agent').replace(')', `, so the agent gets PORT=${ports.agent})`);
  return [
    `proxy    ${at('proxy')}  clients of the agent must use this port${moved('proxy')}`,
    `agent    ${at('agent')}  where the agent listens, if it is a server${agent}`,
    `control  ${at('control')}  platform observe${observe}${moved('control')}`,
    ...lanes.map(
      ({ lane, upstream, variables }) =>
        `lane     ${at('egress')}/${lane.replace(':', '/')}  to ${printable(upstream)}, ${variables.length === 0 ? 'but no variable leads there' : `by ${variables.join(' and ')}`}${moved('egress')}`,
    ),
    ...(lanes.length === 0 ? ['no lane: the calls of the agent are not observed'] : []),
  ];
}

/** What was stopped, and what was seen and is not declared. */
export function seenText(
  { calls, rows }: { calls: readonly ShownCall[]; rows: readonly ShownRow[] },
  manifest: Manifest,
): string {
  const declared = declaredEgressOf(manifest);
  const names = [...new Set(calls.flatMap((call) => [...toolsOf(call)]))];
  const ofServers = mcpToolsIn(declared, names, listedTools(calls));
  const undeclaredIn = (call: ShownCall): string[] => [
    ...[...toolsOf(call)].filter(
      (name) => call.lane.startsWith(MCP_LANE) || !isDeclaredTool(declared, name, ofServers),
    ),
    ...(call.model === null || isDeclaredModel(declared, call.model) ? [] : [call.model]),
  ];
  const groups = (blocked: boolean): string[] =>
    [
      ...Map.groupBy(
        calls.filter((call) => call.blocked === blocked && call.violations.length > 0),
        (call) => {
          const undeclared = undeclaredIn(call);
          return `${call.violations.join(', ')}${undeclared.length === 0 ? '' : ` (${undeclared.join(', ')})`}`;
        },
      ),
    ].map(([what, { length }]) => `  ${plural(length, 'call')}: ${printable(what)}\n`);
  const part = (title: string, lines: readonly string[]): string =>
    lines.length === 0 ? '' : `${title}\n${lines.join('')}`;
  return [
    part('Stopped:', groups(true)),
    part('Not stopped, because --mode is track:', groups(false)),
    part(
      'Seen and not declared:',
      rows
        .filter(({ verdict, observed }) => verdict === 'undeclared' && observed === true)
        .map(({ kind, name }) => `  ${kind} ${printable(name)}\n`),
    ),
  ].join('');
}

/** Why no call passed a lane, as far as the code shows it, and what to do. */
export async function noCallText(
  lanes: readonly RunLane[],
  { cwd, withLanes }: { cwd: string; withLanes: boolean },
): Promise<string> {
  const head = 'No call passed a lane, so nothing was observed.';
  if (!withLanes) return `${head} Leave out --no-lanes.\n`;
  if (lanes.length === 0)
    return `${head} No lane is open, because neither the key nor the base URL of a vendor is set, and the manifest names no vendor with a lane.\n  Fix: set the variable with the key, such as OPENAI_API_KEY, before platform run.\n`;
  const variables = lanes.flatMap((lane) => lane.variables);
  // Loads the parsers of code.
  const { readDirectory } = await import('../scan/read-directory.ts');
  const { files } = await readDirectory(resolve(cwd)).catch(() => ({ files: [] }));
  const [place] = baseUrlsIn(files);
  const variable = variables[0] ?? 'the variable';
  if (place !== undefined)
    return `${head} Likely reason: ${printable(place.file)}:${place.line} sets a base URL in the code, so the client does not read ${variable}.\n  Fix: remove the base URL there, or read it from ${variable}.\n`;
  return `${head} Likely reason: the agent made no call, or its client does not read ${variables.join(' or ')}.\n  Fix: pass ${variable} to the client as its base URL. docs/guide/clients.md lists the clients that read it.\n`;
}
