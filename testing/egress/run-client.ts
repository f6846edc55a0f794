import assert from 'node:assert/strict';
import type { EgressCall } from '../../core/shapes/egress-call.ts';
import type { ToolCall } from '../frameworks/model-response.ts';
import { versionOf, type Client } from '../frameworks/programs.ts';
import type { RaisedError } from '../frameworks/row.ts';
import type { ClientResult, ClientRow } from './client-row.ts';
import { keyOf, laneEnvironment } from './lane-environment.ts';
import type { LaneRig } from './lane-rig.ts';
import type { LaneVendorCall } from './lane-vendor.ts';

export const MULTIPLY: ToolCall = { name: 'multiply', input: '{"a":6,"b":7}' };
/** Destructive, so its call is forbidden without a confirmation. */
export const DELETE: ToolCall = { name: 'delete_order', input: '{"order":"A-1"}' };

/** What a program prints for one call. */
export interface Outcome {
  result?: { received: unknown; ran: string[] };
  /** Outermost first. */
  error?: RaisedError[];
}

interface Clients {
  row: ClientRow;
  rig: LaneRig;
  direct: Client;
  throughLane: Client;
}

const isWithTools = (form: string): boolean => form.startsWith('tools') || form.endsWith(' tools');

/** Runs one row: what is allowed, what is removed, and what is denied. Throws at the first failed assertion. */
export async function runClient(row: ClientRow, rig: LaneRig): Promise<ClientResult> {
  const { throughLane, direct } = laneEnvironment(row, rig.at, rig.port);
  const client = (env: Record<string, string>): Client => rig.programs.client(row.program, row.packages, env);
  const clients: Clients = { row, rig, direct: client(direct), throughLane: client(throughLane) };
  const { name, client: library, lane, variable } = row;
  const removed = row.forms.filter((form) => form.startsWith('tools'));
  const forms: ClientResult['forms'] = [];
  try {
    for (const form of row.forms) forms.push(await checkAllowed(form, clients));
    for (const form of removed) await checkRemoved(form, clients);
    const denial = removed.length > 0 ? await checkUndeclared(clients) : null;
    const version = versionOf(library, row.packages);
    return { name, version, lane, variable, forms, removed, denial };
  } finally {
    await clients.direct.close();
    await clients.throughLane.close();
  }
}

/** One call of the program through the lane, with the vendor's and the lane's records of it. */
export interface Observed {
  outcome: Outcome;
  vendor: LaneVendorCall[];
  log: EgressCall[];
}

/** @param count calls of a model in the log; absent: as many as the vendor served */
export async function observe(
  {
    rig,
    client,
    form,
    lookups,
  }: { rig: LaneRig; client: Client; form: string; lookups?: RegExp | undefined },
  scenario: { name: string; calls?: readonly ToolCall[] },
  count?: number,
): Promise<Observed> {
  rig.vendor.begin(scenario);
  const since = await rig.lastCall();
  const outcome = JSON.parse(await client.call(form, '')) as Outcome;
  const { calls } = rig.vendor;
  const ofModels = (found: readonly EgressCall[]): EgressCall[] =>
    found.filter(({ path }) => lookups?.test(path) !== true);
  const wanted = count ?? calls.length;
  const log = ofModels(await rig.callsAfter(since, (found) => ofModels(found).length >= wanted));
  return { outcome, vendor: calls, log: log.toSorted((a, b) => a.id - b.id) };
}

/** Nothing is denied: the client receives the same as without a lane, and the log equals the vendor's truth. */
async function checkAllowed(
  form: string,
  { row, rig, direct, throughLane }: Clients,
): Promise<ClientResult['forms'][number]> {
  const what = `${row.name}, ${form}`;
  const scenario = { name: what, calls: isWithTools(form) ? [MULTIPLY] : [] };
  rig.vendor.begin(scenario);
  const without = await direct.call(form, '');
  assert.ok('result' in (JSON.parse(without) as Outcome), `${what}, without a lane: ${without}`);
  const next = { rig, client: throughLane, form, lookups: row.lookups };
  const { outcome, vendor, log } = await observe(next, scenario);
  assert.deepEqual(
    rig.vendor.others.filter((other) => other.startsWith('POST ') && row.lookups?.test(other) !== true),
    [],
    `${what}: unknown paths`,
  );
  assert.equal(
    plain(JSON.stringify(outcome), row),
    // Python writes other spaces and escapes.
    plain(JSON.stringify(JSON.parse(without)), row),
    `${what}: differs from a run without a lane`,
  );
  const ran = isWithTools(form) ? ['multiply'] : [];
  assert.deepEqual(outcome.result?.ran ?? [], ran, what);
  checkLog({ what, row, vendor, log });
  assert.ok(
    log.every(({ blocked, violations }) => !blocked && violations.length === 0),
    `${what}: ${JSON.stringify(log)}`,
  );
  const tokens = vendor.reduce((sum, call) => sum + call.promptTokens + call.completionTokens, 0);
  return { name: form, calls: vendor.length, tokens };
}

interface Compared {
  what: string;
  row: Pick<ClientRow, 'lane' | 'writesResultsAsText'>;
  vendor: readonly LaneVendorCall[];
  log: readonly EgressCall[];
}

/** Asserts that the log has the vendor's models, tools and tokens, call by call, and that the vendor got its own key. */
export function checkLog({ what, row, vendor, log }: Compared): void {
  assert.ok(vendor.length > 0, `${what}: the vendor was not called`);
  const ranBefore = (index: number): string[] =>
    row.writesResultsAsText === true
      ? []
      : (vendor[index - 1]?.called.filter((name) => name !== 'final_answer') ?? []);
  const truth = vendor.map((call, index) => ({
    lane: row.lane as string,
    model: call.model,
    stream: call.isStream,
    toolsOffered: call.offered,
    toolsCalled: call.called,
    toolsExecuted: ranBefore(index),
    tokens: [call.promptTokens, call.completionTokens],
  }));
  const logged = log.map(({ lane, model, stream, toolsOffered, toolsCalled, toolsExecuted, usage }) => ({
    ...{ lane, model, stream, toolsOffered, toolsCalled, toolsExecuted },
    tokens: usage === null ? null : [usage.promptTokens, usage.completionTokens],
  }));
  assert.deepEqual(logged, truth, what);
  const key = keyOf(row.lane);
  if (key !== null) assert.deepEqual([...new Set(vendor.map((call) => call.key))], [key], `${what}: key`);
}

/** A forbidden call in the response never reaches the agent, and its run finishes. */
async function checkRemoved(form: string, { row, rig, direct, throughLane }: Clients): Promise<void> {
  const what = `${row.name}, ${form}, forbidden`;
  rig.vendor.begin({ name: what, calls: [MULTIPLY, DELETE] });
  const { result: unchanged } = JSON.parse(await direct.call(form, '')) as Outcome;
  assert.deepEqual(unchanged?.ran.toSorted(), ['delete_order', 'multiply'], `${what}: without a lane`);
  const next = { rig, client: throughLane, form, lookups: row.lookups };
  const both = await observe(next, { name: what, calls: [MULTIPLY, DELETE] });
  assert.deepEqual(both.outcome.result?.ran, ['multiply'], `${what}: ${JSON.stringify(both.outcome)}`);
  const [first, second] = both.log;
  assert.deepEqual(first?.toolsCalled.toSorted(), ['delete_order', 'multiply'], what);
  assert.deepEqual(
    [first?.blocked, first?.statusCode, first?.violations, second?.toolsExecuted],
    [
      true,
      200,
      ['destructive_tool_without_confirmation'],
      row.writesResultsAsText === true ? [] : ['multiply'],
    ],
    what,
  );
  const only = await observe(next, { name: `${what} only`, calls: [DELETE] });
  assert.deepEqual(only.outcome.result?.ran, [], `${what}, the only call: ${JSON.stringify(only.outcome)}`);
  assert.equal(only.log[0]?.blocked, true, what);
}

/** An undeclared tool that the agent offers is denied before the vendor gets the request, with one clean error. */
async function checkUndeclared({ row, rig, throughLane }: Clients): Promise<ClientResult['denial']> {
  const what = `${row.name}, undeclared`;
  const { denial } = row;
  const name = { name: what };
  const { outcome, vendor, log } = await observe(
    { rig, client: throughLane, form: 'undeclared', lookups: row.lookups },
    name,
    denial?.attempts,
  );
  const { error = [] } = outcome;
  assert.ok(
    error.some(({ type }) => type === denial?.type),
    `${what}: ${JSON.stringify(outcome)}`,
  );
  assert.ok(
    error.some(({ message }) => message.includes('drop_table')),
    `${what}: ${JSON.stringify(error)}`,
  );
  assert.deepEqual(vendor, [], `${what}: the vendor was called`);
  assert.equal(log.length, denial?.attempts, `${what}: attempts`);
  for (const { blocked, statusCode, violations } of log)
    assert.deepEqual([blocked, statusCode, violations], [true, 403, ['tool_not_declared']], what);
  return denial;
}

/** Text that differs between runs in every client. */
const RANDOM: readonly RegExp[] = [
  /\b127\.0\.0\.1:\d+/g,
  /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/g,
  /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?/g,
  // The header `date`.
  /\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT/g,
  // Of the connection to the sidecar.
  /"keep-alive": ?"timeout=\d+"/g,
  // Seconds and milliseconds since 1970, later than the vendor's fixed time.
  /\b(?!1767225600\b)1[789]\d{8}(\d{3})?(\.\d+)?\b/g,
];

function plain(text: string, { random = [] }: ClientRow): string {
  return [...RANDOM, ...random].reduce((rest, pattern) => rest.replace(pattern, '…'), text);
}
