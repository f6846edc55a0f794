import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { callsOf } from '../../core/behavior/entry-usage.ts';
import { evidencePercent } from '../../core/evidence/evidence.ts';
import type { EvidenceReport } from '../../core/shapes/evidence.ts';
import type { ExploreReport } from '../../core/shapes/explore.ts';
import type { GapReport } from '../../core/shapes/gap.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { builtinEngine, policyOf } from '../../core/policy/policy.ts';
import { totalOf } from '../../core/usage/response-usage.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { startFakeEngine, type FakeEngine } from '../sidecar/fake-engine.ts';
import { McpTestClient } from '../sidecar/mcp-client.ts';
import { ProcessRig } from '../machine/process-rig.ts';
import { ExampleAgent } from './example-agent.ts';
import type { ExampleResult } from './example-result.ts';
import { exampleName, type ExampleRow } from './example-rows.ts';
import { versionOf } from './programs.ts';
import { until } from '../time/until.ts';
import { startVendor, type Vendor } from './vendor.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples');

/** Resources shared by the rows of a run. */
export interface ExampleRig {
  vendor: Vendor;
  processes: ProcessRig;
  close(): Promise<void>;
}

export async function openExamples(): Promise<ExampleRig> {
  const [vendor, processes] = [await startVendor(), await ProcessRig.open()];
  const close = async (): Promise<void> => {
    await processes.close();
    await vendor.close();
  };
  return { vendor, processes, close };
}

const QUESTION = 'How much is six times seven?';
const PERSONAL = 'I am ann.lee@example.com. How much is six times seven?';

/** A budget of two conversations: a conversation of three calls has 268 tokens, one of one call has 36. */
const budgetOf = ({ isMcp }: ExampleRow): number => (isMcp === true ? 60 : 400);

/** The agent's own manifest with this budget. */
function manifestOf(row: ExampleRow): string {
  const text = readFileSync(join(EXAMPLES, row.folder, 'agent.yaml'), 'utf8');
  const changed = text.replace(/maxTokensPerDay: \d+/, `maxTokensPerDay: ${budgetOf(row)}`);
  assert.notEqual(changed, text, `${row.folder}: maxTokensPerDay`);
  return changed;
}

/** The rules of the manifest behind the API of an engine, as OPA serves them. */
async function engineFor(manifest: string): Promise<FakeEngine> {
  const parsed = parseManifest(manifest);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const policy = policyOf(parsed.manifest);
  const engine = builtinEngine(() => policy);
  return await startFakeEngine(async (input) => {
    const result = await engine.evaluate(input);
    return { result: result.state === 'answered' ? result.denials : [] };
  });
}

/** An example behind a sidecar. */
interface Chain {
  row: ExampleRow;
  vendor: Vendor;
  proxyUrl: string;
  get: <T>(path: string) => Promise<T>;
}

/** Runs one row. Throws at the first difference between the sidecar and the vendor. */
export async function runExample(row: ExampleRow, { vendor, processes }: ExampleRig): Promise<ExampleResult> {
  const [port = 0] = await freePorts(1);
  const manifest = manifestOf(row);
  const agent = new ExampleAgent(row, manifest);
  const engine = await engineFor(manifest);
  const sidecar = await processes.startSidecar(port, join(agent.folder, 'agent.yaml'), {
    ...{ POLICY_ENGINE: 'builtin', LOG_LEVEL: 'error', AGENT_ENV_NAMES: 'OPENAI_API_KEY' },
  });
  const get = async <T>(path: string): Promise<T> =>
    (await (await fetch(`${sidecar.controlUrl}${path}`)).json()) as T;
  try {
    await agent.start(port, {
      OPENAI_BASE_URL: `${vendor.url}/v1`,
      PLATFORM_SIDECAR_URL: sidecar.controlUrl,
      POLICY_URL: engine.url,
    });
    return await observe({ row, vendor, proxyUrl: sidecar.proxyUrl, get });
  } catch (error) {
    throw new Error(`${exampleName(row)}: ${agent.output()}`, { cause: error });
  } finally {
    await agent.close();
    await sidecar.stop();
    await engine.stop();
  }
}

async function observe(chain: Chain): Promise<ExampleResult> {
  const { row, get } = chain;
  const conversation = await converse(chain);
  const gap = await get<GapReport & { evidence: EvidenceReport }>('/gap');
  const { tools } = await get<ExploreReport>('/explore');
  const registeredTools = tools.filter(({ registered }) => registered === true).map(({ name }) => name);
  // As text: in Jest the arrays of a response are of another realm.
  assert.equal(
    JSON.stringify([gap.issues, registeredTools]),
    JSON.stringify([[], tools.map(({ name }) => name)]),
  );
  const blocked = await block(chain);
  await converse(chain, conversation.tokens);
  const denial = await deny(chain);
  const { score, grade, source, evidence } = gap;
  return {
    folder: row.folder,
    versions: Object.fromEntries(row.shows.map((name) => [name, versionOf(name, row.packages)])),
    ...{ conversation, blocked, denial },
    gap: { score, grade, source },
    evidence: {
      percent: evidencePercent(evidence),
      items: evidence.items.map(({ kind, name, tier }) => ({ kind, name, tier })),
    },
    registeredTools,
  };
}

/** A message that takes several calls and tool calls. `earlier`: tokens of the conversations before. */
async function converse(chain: Chain, earlier = 0): Promise<ExampleResult['conversation']> {
  const { row, vendor, get } = chain;
  const before = (await get<AuditEntry[]>('/audit')).length;
  vendor.begin({ name: `${row.folder} ${before}` });
  const answered = await ask(chain, QUESTION);
  assert.equal(answered.status, 200, answered.text);
  assert.match(answered.text, /42/);
  const truth = truthOf(chain);
  let entries: AuditEntry[] = [];
  await until(
    async () => {
      entries = (await get<AuditEntry[]>('/audit')).slice(before);
      return JSON.stringify(seenIn(entries)) === JSON.stringify(truth);
    },
    () => `${JSON.stringify(seenIn(entries))} to equal ${JSON.stringify(truth)}: ${JSON.stringify(entries)}`,
  );
  const usage = await get<{ source: string; totalTokens: number }>('/usage');
  assert.deepEqual([usage.source, usage.totalTokens], ['agent-sdk', earlier + truth.tokens]);
  return truth;
}

/** What the vendor counted and called, and the guardrail that runs for each message. */
function truthOf({ row, vendor: { calls } }: Chain): ExampleResult['conversation'] {
  return {
    models: unique(calls.map(({ model }) => model)),
    // The client calls the tools of an MCP server.
    tools: row.isMcp === true ? ['ask', 'calculator'] : unique(calls.flatMap(({ tools }) => tools)),
    guardrails: ['pii-detector'],
    calls: calls.length,
    tokens: calls.reduce((sum, call) => sum + call.promptTokens + call.completionTokens, 0),
  };
}

function seenIn(entries: readonly AuditEntry[]): ExampleResult['conversation'] {
  const calls = entries.flatMap((entry) => callsOf(entry));
  return {
    models: unique(calls.map(({ modelId }) => modelId)),
    tools: unique(entries.flatMap(({ toolsCalled = [] }) => toolsCalled)),
    guardrails: unique(entries.flatMap(({ guardrailsInvoked = [] }) => guardrailsInvoked)),
    calls: calls.length,
    tokens: totalOf(calls).totalTokens,
  };
}

const unique = (names: readonly string[]): string[] => [...new Set(names)].sort();

/** A message with personal data: the guardrail blocks it before a call of the model. */
async function block(chain: Chain): Promise<ExampleResult['blocked']> {
  const { row, vendor, get } = chain;
  const before = (await get<AuditEntry[]>('/audit')).length;
  vendor.begin({ name: `${row.folder} personal data` });
  const { status } = await ask(chain, PERSONAL);
  let result: ExampleResult['blocked'] | undefined;
  await until(
    async () => {
      const entries = (await get<AuditEntry[]>('/audit')).slice(before);
      const events = entries.flatMap(({ events = [] }) => events);
      const isReportedBlocked = events.some((event) => event.type === 'guardrail' && event.blocked === true);
      result = {
        status,
        ...{ guardrails: seenIn(entries).guardrails, isReportedBlocked },
        calls: vendor.calls.length,
      };
      return isReportedBlocked && result.guardrails.length > 0;
    },
    () => `the blocked message: ${JSON.stringify(result)}`,
  );
  assert.deepEqual(result, {
    status: row.isMcp === true ? 200 : 422,
    ...{ guardrails: ['pii-detector'], isReportedBlocked: true, calls: 0 },
  });
  return result;
}

/** A message after the budget of the day: the policy denies it before a call of the model. */
async function deny(chain: Chain): Promise<ExampleResult['denial']> {
  const { row, vendor } = chain;
  vendor.begin({ name: `${row.folder} denial` });
  const { status, text } = await ask(chain, QUESTION);
  const violations = unique(text.match(/\w+_limit_exceeded/g) ?? []);
  const result = { status, violations, calls: vendor.calls.length };
  assert.deepEqual(
    result,
    { status: row.isMcp === true ? 200 : 403, violations: ['daily_token_limit_exceeded'], calls: 0 },
    text,
  );
  return result;
}

interface Received {
  status: number;
  text: string;
}

async function ask({ row, proxyUrl }: Chain, message: string): Promise<Received> {
  if (row.isMcp === true) return await askTools(proxyUrl, message);
  const response = await fetch(`${proxyUrl}/v1/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
  });
  return { status: response.status, text: await response.text() };
}

/** Calls both tools. A failed call of a tool has status 200. */
async function askTools(url: string, message: string): Promise<Received> {
  const client = await McpTestClient.connect(new StreamableHTTPClientTransport(new URL('/mcp', url)));
  try {
    await client.call('calculator', { a: 6, b: 7 });
    const { content } = await client.call('ask', { message });
    return { status: 200, text: JSON.stringify(content) };
  } finally {
    await client.close();
  }
}
