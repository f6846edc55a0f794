import type { MatrixRow } from '../shapes/egress.ts';
import type { MatrixReport } from '../shapes/explore.ts';
import { MATRIX_KINDS, type MatrixKind } from '../shapes/values.ts';
import type { CheckStatus } from '../facts/check.ts';
import { declaredModelName, modelNamesOf } from '../facts/sightings.ts';
import type { EgressFacts } from '../facts/egress-facts.ts';
import type { Facts } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { cut } from '../untrusted/fields.ts';
import {
  declaredEgressOf,
  hostName,
  isDeclaredHost,
  isDeclaredModel,
  isDeclaredTool,
  MCP_LANE,
  mcpToolsIn,
  toolsOfServer,
  type DeclaredEgress,
} from './declared.ts';
import { lanesOfProvider } from './lane-use.ts';
import { tokensState } from './tokens-state.ts';
import { stateOf, type Known, type MatrixState } from './matrix-state.ts';

/** The facts that the matrix compares. */
export type MatrixFacts = Pick<Facts, 'agentReport' | 'behavior' | 'egress' | 'reported'>;

type Cells = Pick<MatrixRow, 'name' | 'declared' | 'reported' | 'observed' | 'amount'> & {
  state?: MatrixState;
};

interface MatrixInput {
  manifest: Manifest;
  declared: DeclaredEgress;
  facts: MatrixFacts;
  /** null: neither a lane nor a census. */
  egress: EgressFacts | null;
}

/** Longer names are cut; UTF-16 units. */
const MAX_NAME = 500;

const ROWS_BY_KIND: Readonly<Record<MatrixKind, (input: MatrixInput) => Cells[]>> = {
  model: modelRows,
  tool: toolRows,
  mcp: mcpRows,
  host: hostRows,
  guardrail: guardrailRows,
  tokens: tokenRows,
};

/** Declared, reported and observed, side by side: rows by kind, each kind in the order of the manifest, then of the facts. */
export function matrixOf(manifest: Manifest, facts: MatrixFacts): MatrixReport {
  const input = { manifest, declared: declaredEgressOf(manifest), facts, egress: facts.egress ?? null };
  const rows = MATRIX_KINDS.flatMap((kind) =>
    ROWS_BY_KIND[kind](input).map((cells): MatrixRow => {
      const { declared, reported, observed } = cells;
      const state = cells.state ?? stateOf(cells);
      const row = { kind, name: cut(cells.name, MAX_NAME), declared, reported, observed, verdict: state };
      return cells.amount === undefined ? row : { ...row, amount: cells.amount };
    }),
  );
  return { rows };
}

/** Whether a set of seen items contains the item; null: nothing is known. */
function isIn(seen: ReadonlySet<string> | null, matches: (each: string) => boolean): Known {
  return seen === null ? null : [...seen].some(matches);
}

function modelRows({ manifest, declared, facts, egress }: MatrixInput): Cells[] {
  const reported = facts.reported?.models ?? null;
  const requested = facts.reported?.requestedModels ?? [];
  const called = egress?.models ?? new Map<string, number>();
  const rows = declared.models.map((name): Cells => {
    const matches = (id: string): boolean => modelNamesOf(id).includes(declaredModelName(name));
    const isCalled = [...called.keys()].some(matches);
    const observed = isCalled || (hasLaneFor(manifest, name, egress) ? false : null);
    const isReported = [...requested].some(matches) || isIn(reported, matches);
    return { name, declared: true, reported: isReported, observed };
  });
  const others = [...new Set([...called.keys(), ...(reported ?? [])])].filter(
    (id) => modelNamesOf(id).length > 0 && !isDeclaredModel(declared, id),
  );
  return [
    ...rows,
    ...others.map((name): Cells => {
      const observed = called.has(name) || (egress === null || egress.models.size === 0 ? null : false);
      return { name, declared: false, reported: reported?.has(name) ?? null, observed };
    }),
  ];
}

/** Whether a lane would see the calls of the declared model. */
function hasLaneFor({ spec: { model } }: Manifest, id: string, egress: EgressFacts | null): boolean {
  const { provider } =
    [model, ...(model.fallback ? [model.fallback] : [])].find((each) => each.id === id) ?? {};
  return egress !== null && provider !== undefined && lanesOfProvider(provider, egress.lanes).length > 0;
}

function toolRows({ manifest, declared, facts, egress }: MatrixInput): Cells[] {
  const reported = facts.reported?.tools ?? null;
  const byModels = egress === null ? new Set<string>() : toolsOfModels(egress);
  const byServers = callsOnServers(declared, egress);
  const declaredNames = (manifest.spec.tools ?? []).map(({ name }) => name);
  const names = [...new Set([...declaredNames, ...byModels, ...byServers.keys(), ...(reported ?? [])])];
  const servers = [...(egress?.mcpServers ?? [])];
  const lists = new Map(servers.map(([name, { toolsListed }]) => [name, toolsListed]));
  const mcpTools = mcpToolsIn(declared, names, lists);
  // Without a call of a model or an MCP server, nothing is known about the tools.
  const hasCalls = egress !== null && egress.models.size + byServers.size > 0;
  return names.map((name): Cells => {
    const isReported = reported?.has(name) ?? null;
    // The agent can run a tool without a model. No lane sees that.
    const unseen = hasCalls && isReported !== true ? false : null;
    // A call on a server must be of its own tools. For a model, a declared server must list the tool.
    const isOfServer =
      byServers.get(name) !== false && (mcpTools.has(name) || (byServers.has(name) && !byModels.has(name)));
    return {
      name,
      declared: isOfServer || isDeclaredTool(declared, name),
      reported: isReported,
      observed: byModels.has(name) || byServers.has(name) || unseen,
    };
  });
}

/** The tools that were offered to a model or called by a model, or whose results were sent to a model. */
function toolsOfModels({ toolsOffered, toolsCalled, toolsExecuted }: EgressFacts): Set<string> {
  return new Set([...toolsOffered.keys(), ...toolsCalled.keys(), ...toolsExecuted.keys()]);
}

/** The tools that were called on MCP servers, and whether each of these servers is declared and lists the tool. */
function callsOnServers(declared: DeclaredEgress, egress: EgressFacts | null): Map<string, boolean> {
  const calls = new Map<string, boolean>();
  for (const [server, { toolsCalled, toolsListed, hasListed }] of egress?.mcpServers ?? []) {
    const names = [...toolsCalled.keys()];
    const listed = hasListed ? toolsListed : undefined;
    const own = new Set(toolsOfServer(declared, server, { names, listed }));
    for (const name of names) calls.set(name, own.has(name) && calls.get(name) !== false);
  }
  return calls;
}

function mcpRows({ declared, facts, egress }: MatrixInput): Cells[] {
  const lanes = (egress?.lanes ?? []).filter((lane) => lane.startsWith(MCP_LANE));
  const names = new Set([
    ...declared.mcpServers,
    ...(egress?.mcpServers.keys() ?? []),
    ...lanes.map((lane) => lane.slice(MCP_LANE.length)),
  ]);
  const checks = facts.agentReport?.checks ?? null;
  return [...names].map((name): Cells => {
    const status = checks?.find(({ id }) => id === `${MCP_LANE}${name}`)?.status;
    return {
      name,
      declared: declared.mcpServers.has(name),
      reported: reportedBy(status),
      observed:
        egress?.mcpServers.has(name) === true || (lanes.includes(`${MCP_LANE}${name}`) ? false : null),
    };
  });
}

/** A check that was skipped reports nothing. */
function reportedBy(status: CheckStatus | undefined): Known {
  return status === undefined || status === 'skip' ? null : status === 'pass';
}

function hostRows({ declared, egress }: MatrixInput): Cells[] {
  const { exact, domains } = declared.hosts;
  const seen = new Map<string, Known>();
  for (const host of egress?.hosts.keys() ?? []) seen.set(hostName(host), isDeclaredHost(declared, host));
  for (const { name, address, port, verdict, lanes } of egress?.census?.unseenEgress ?? []) {
    const host = name === null ? `${address}:${port}` : hostName(name);
    // The host itself has a row of its own, if it is declared.
    const key = lanes === undefined ? host : `${host} past lane ${lanes.join(', ')}`;
    if (!seen.has(key)) seen.set(key, verdict === 'unknown' ? null : false);
  }
  const row = (name: string, isDeclared: Known, isObserved: boolean): Cells => ({
    ...{ name, declared: isDeclared, reported: null },
    // Not every connection has a name, so a host that was not seen may have been used.
    observed: isObserved ? true : null,
  });
  const others = [...seen].filter(([name]) => !exact.has(name));
  return [
    ...[...exact].map((name) => row(name, true, seen.has(name))),
    ...domains.map((end) =>
      row(
        `*${end}`,
        true,
        others.some(([name]) => name.endsWith(end)),
      ),
    ),
    ...others
      .filter(([name]) => !domains.some((end) => name.endsWith(end)))
      .map(([name, isDeclared]) => row(name, isDeclared, true)),
  ];
}

function guardrailRows({ manifest, facts }: MatrixInput): Cells[] {
  const { sampled, guardrailsInvoked } = facts.behavior;
  const declared = (['input', 'output'] as const).flatMap((where) =>
    (manifest.spec.guardrails?.[where] ?? []).map(({ type }) => ({
      name: `${where}.${type}`,
      type: String(type),
    })),
  );
  const types = new Set(declared.map(({ type }) => type));
  const others = [...guardrailsInvoked.keys()].filter((type) => !types.has(type));
  const names = [...new Map(declared.map((each) => [each.name, each])).values()];
  return [
    ...names.map(({ name, type }): Cells => {
      const reported = sampled === 0 ? null : guardrailsInvoked.has(type);
      return { name, declared: true, reported, observed: null };
    }),
    ...others.map((name): Cells => ({ name, declared: false, reported: true, observed: null })),
  ];
}

/** A manifest declares limits of tokens, not numbers. Observed tokens are those of the requests whose tokens are reported, else of all. */
function tokenRows({ egress }: MatrixInput): Cells[] {
  if (egress === null || egress.lanes.length === 0) return [];
  const { reportedTokens, tokens, usage } = egress;
  const seen = reportedTokens === null ? usage : tokens;
  const reported = reportedTokens === null ? null : true;
  const rows = (['prompt', 'completion'] as const).map((name): Cells => ({
    ...{ name, declared: null, reported, observed: seen === undefined ? null : true },
    state: tokensState(egress, name),
    ...(seen !== undefined && { amount: seen[name] }),
  }));
  if (usage === undefined) return rows;
  const { costUsd } = usage;
  const cost = { name: 'cost', declared: null, reported: null, observed: costUsd === null ? null : true };
  return [...rows, costUsd === null ? cost : { ...cost, amount: costUsd }];
}
