import assert from 'node:assert/strict';
import type { EgressCall } from '../../core/egress/egress-call.ts';
import type { ToolCall } from '../frameworks/model-answer.ts';
import type { Client } from '../frameworks/programs.ts';
import type { RaisedError } from '../frameworks/row.ts';
import type { ClientRow } from './client-row.ts';
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
export async function runClient(row: ClientRow, rig: LaneRig): Promise<void> {
  const { throughLane, direct } = laneEnvironment(row, rig.at, rig.port);
  const client = (env: Record<string, string>): Client => rig.programs.client(row.program, row.packages, env);
  const clients: Clients = { row, rig, direct: client(direct), throughLane: client(throughLane) };
  try {
    for (const form of row.forms) await checkAllowed(form, clients);
    const withTools = row.forms.filter((form) => form.startsWith('tools'));
    for (const form of withTools) await checkRemoved(form, clients);
    if (withTools.length > 0) await checkUndeclared(clients);
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

/** @param count calls in the log; absent: as many as the vendor served */
export async function observe(
  { rig, client, form }: { rig: LaneRig; client: Client; form: string },
  scenario: { name: string; calls?: readonly ToolCall[] },
  count?: number,
): Promise<Observed> {
  rig.vendor.begin(scenario);
  const since = await rig.lastCall();
  const outcome = JSON.parse(await client.call(form, '')) as Outcome;
  const { calls } = rig.vendor;
  const log = await rig.callsAfter(since, count ?? calls.length);
  return { outcome, vendor: calls, log: log.toSorted((a, b) => a.id - b.id) };
}

/** Nothing is denied: the client receives the same as without a lane, and the log equals the vendor's truth. */
async function checkAllowed(form: string, { row, rig, direct, throughLane }: Clients): Promise<void> {
  const what = `${row.name}, ${form}`;
  const scenario = { name: what, calls: isWithTools(form) ? [MULTIPLY] : [] };
  rig.vendor.begin(scenario);
  const without = await direct.call(form, '');
  assert.ok('result' in (JSON.parse(without) as Outcome), `${what}, without a lane: ${without}`);
  const { outcome, vendor, log } = await observe({ rig, client: throughLane, form }, scenario);
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
  assert.deepEqual(
    rig.vendor.others.filter((other) => /^POST \S/.test(other)),
    [],
    `${what}: unknown paths`,
  );
}

interface Compared {
  what: string;
  row: Pick<ClientRow, 'lane'>;
  vendor: readonly LaneVendorCall[];
  log: readonly EgressCall[];
}

/** Asserts that the log has the vendor's models, tools and tokens, call by call, and that the vendor got its own key. */
export function checkLog({ what, row, vendor, log }: Compared): void {
  assert.ok(vendor.length > 0, `${what}: the vendor was not called`);
  const truth = vendor.map((call, index) => ({
    lane: row.lane as string,
    model: call.model,
    stream: call.isStream,
    toolsOffered: call.offered,
    toolsCalled: call.called,
    toolsExecuted: vendor[index - 1]?.called.filter((name) => name !== 'final_answer') ?? [],
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

/** A forbidden call in the answer never reaches the agent, and its run finishes. */
async function checkRemoved(form: string, { row, rig, direct, throughLane }: Clients): Promise<void> {
  const what = `${row.name}, ${form}, forbidden`;
  rig.vendor.begin({ name: what, calls: [MULTIPLY, DELETE] });
  const { result: unchanged } = JSON.parse(await direct.call(form, '')) as Outcome;
  assert.deepEqual(unchanged?.ran.toSorted(), ['delete_order', 'multiply'], `${what}: without a lane`);
  const next = { rig, client: throughLane, form };
  const both = await observe(next, { name: what, calls: [MULTIPLY, DELETE] });
  assert.deepEqual(both.outcome.result?.ran, ['multiply'], `${what}: ${JSON.stringify(both.outcome)}`);
  const [first, second] = both.log;
  assert.deepEqual(first?.toolsCalled.toSorted(), ['delete_order', 'multiply'], what);
  assert.deepEqual(
    [first?.blocked, first?.statusCode, first?.violations, second?.toolsExecuted],
    [true, 200, ['destructive_tool_without_confirmation'], ['multiply']],
    what,
  );
  const only = await observe(next, { name: `${what} only`, calls: [DELETE] });
  assert.deepEqual(only.outcome.result?.ran, [], `${what}, the only call: ${JSON.stringify(only.outcome)}`);
  assert.equal(only.log[0]?.blocked, true, what);
}

/** An undeclared tool that the agent offers is denied before the vendor gets the request, with one clean error. */
async function checkUndeclared({ row, rig, throughLane }: Clients): Promise<void> {
  const what = `${row.name}, undeclared`;
  const { denial } = row;
  const name = { name: what };
  const { outcome, vendor, log } = await observe(
    { rig, client: throughLane, form: 'undeclared' },
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
}

/** Text that differs between runs in every client. */
const RANDOM: readonly RegExp[] = [
  /\b127\.0\.0\.1:\d+/g,
  /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/g,
  /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?/g,
  // Seconds and milliseconds since 1970, later than the vendor's fixed time.
  /\b(?!1767225600\b)1[789]\d{8}(\d{3})?(\.\d+)?\b/g,
];

function plain(text: string, { random = [] }: ClientRow): string {
  return [...RANDOM, ...random].reduce((rest, pattern) => rest.replace(pattern, '…'), text);
}
