import assert from 'node:assert/strict';
import type { EgressCall } from '../../core/shapes/egress-call.ts';
import { versionOf, type Client } from '../frameworks/programs.ts';
import type { McpClientResult, McpClientRow } from './client-row.ts';
import type { LaneRig } from './lane-rig.ts';
import type { Outcome } from './run-client.ts';

/** The parts of a tool result that clients receive. */
interface ToolResult {
  content: { type: string; text?: string }[];
  isError?: boolean;
}

/** Runs one row. Throws at the first failed assertion. */
export async function runMcpClient(row: McpClientRow, rig: LaneRig): Promise<McpClientResult> {
  const lane = row.isSse === true ? 'older' : 'shop';
  const address = row.isSse === true ? rig.at.mcpSse : rig.at.mcp;
  const client = (url: string): Client =>
    rig.programs.client(row.program, row.packages, {
      ...row.options,
      SHOP_MCP_URL: url,
      ...(row.isSse === true && { TRANSPORT: 'sse' }),
    });
  const direct = client(address);
  const throughLane = client(`http://127.0.0.1:${rig.port}/mcp/${lane}`);
  try {
    for (const form of ['list', 'tool']) {
      const [without, through] = [await direct.call(form, ''), await throughLane.call(form, '')];
      assert.equal(through, without, `${row.name}, ${form}`);
    }
    await checkCalls({ row, rig, lane, client: throughLane });
    await checkDenial({ row, rig, lane, client: throughLane });
    const version = versionOf(row.client, row.packages);
    return { name: row.name, version, transport: row.isSse === true ? 'HTTP+SSE' : 'streamable HTTP' };
  } finally {
    await direct.close();
    await throughLane.close();
  }
}

interface Subject {
  row: McpClientRow;
  rig: LaneRig;
  lane: string;
  client: Client;
}

/** The calls of this lane after `since`, once one of them is as wanted. */
async function callsOf(
  { rig, lane }: Subject,
  since: number,
  isWanted: (call: EgressCall) => boolean,
): Promise<EgressCall[]> {
  const isOfLane = (call: EgressCall): boolean => call.lane === `mcp:${lane}`;
  const calls = await rig.callsAfter(since, (found) =>
    found.some((call) => isOfLane(call) && isWanted(call)),
  );
  return calls.filter(isOfLane);
}

/** The log has the listed and called tools. */
async function checkCalls(subject: Subject): Promise<void> {
  const { row, rig, client } = subject;
  const since = await rig.lastCall();
  await client.call('list', '');
  rig.shop.clear();
  await client.call('tool', '');
  assert.deepEqual(rig.shop.ran, ['multiply'], row.name);
  const log = await callsOf(subject, since, ({ toolsExecuted }) => toolsExecuted.length > 0);
  const names = (of: 'toolsOffered' | 'toolsCalled' | 'toolsExecuted'): string[] =>
    [...new Set(log.flatMap((call) => call[of]))].sort();
  assert.deepEqual(names('toolsCalled'), ['multiply'], row.name);
  assert.deepEqual(names('toolsExecuted'), ['multiply'], row.name);
  // In the older transport, lists arrive in the open GET, whose call is logged at its end.
  if (row.isSse !== true) assert.deepEqual(names('toolsOffered'), ['delete_order', 'multiply'], row.name);
}

/** A forbidden tool does not run, the model can read why, and the session goes on. */
async function checkDenial(subject: Subject): Promise<void> {
  const { row, rig, client } = subject;
  rig.shop.clear();
  const since = await rig.lastCall();
  const { result } = JSON.parse(await client.call('forbidden', '')) as { result?: ToolResult };
  assert.deepEqual(rig.shop.ran, [], row.name);
  assert.equal(result?.isError, true, `${row.name}: ${JSON.stringify(result)}`);
  assert.match(result?.content[0]?.text ?? '', /delete_order.*destructive_tool_without_confirmation/);
  const blocked = (await callsOf(subject, since, (call) => call.blocked)).filter((call) => call.blocked);
  assert.deepEqual(
    blocked.map(({ toolsCalled, violations }) => [toolsCalled, violations]),
    [[['delete_order'], ['destructive_tool_without_confirmation']]],
    row.name,
  );
  const both = JSON.parse(await client.call('both', '')) as Outcome & { result?: ToolResult[] };
  assert.deepEqual(
    both.result?.map(({ isError }) => isError === true),
    [true, false],
    row.name,
  );
  assert.deepEqual(rig.shop.ran, ['multiply'], row.name);
}
