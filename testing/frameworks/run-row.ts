import assert from 'node:assert/strict';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { callsOf, callsWithoutUsageOf } from '../../core/behavior/entry-usage.ts';
import { totalOf } from '../../core/usage/response-usage.ts';
import type { RingUsageReport } from '../../core/shapes/sidecar-reports.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { manifestText } from '../manifests/manifest-text.ts';
import { ProcessRig } from '../machine/process-rig.ts';
import { Programs, versionOf, type Client } from './programs.ts';
import type { Form, FormResult, RaisedError, Row, RowResult } from './row.ts';
import { startTap, type Exchange, type Tap } from './tap.ts';
import { until } from '../time/until.ts';
import { startVendor, type Scenario, type Vendor } from './vendor.ts';

/** Resources shared by the rows of a run. */
export interface Matrix {
  vendor: Vendor;
  programs: Programs;
  processes: ProcessRig;
  /** A model behind a sidecar that denies every call. */
  denying: { url: string; tap: Tap };
  close(): Promise<void>;
}

/** Report of an agent that the policy denies: no guardrail ran. */
const DENIED = { 'X-Platform-Guardrails-Invoked': '' };

const manifestFor = ({ chatPath, isMcp }: Pick<Row, 'chatPath' | 'isMcp'>): string =>
  manifestText(`  guardrails:
    input: [{ type: pii-detector }]
  api:
    type: ${isMcp === true ? 'mcp' : 'rest'}
${chatPath === undefined ? '' : `    chatEndpoint: { path: ${chatPath} }`}
`);

const SIDECAR_ENV = { POLICY_PROXY_MODE: 'enforce', POLICY_ENGINE: 'builtin', LOG_LEVEL: 'error' };

/** Starts the shared resources. */
export async function openMatrix(): Promise<Matrix> {
  const [programs, processes] = [new Programs(), await ProcessRig.open()];
  const vendor = await startVendor();
  const tap = await startTap(vendor.url);
  tap.reports = () => DENIED;
  const manifest = await processes.file('denying.yaml', manifestFor({ chatPath: '/v1/chat/completions' }));
  const { proxyUrl } = await processes.startSidecar(portOf(tap.url), manifest, SIDECAR_ENV);
  return {
    ...{ vendor, programs, processes, denying: { url: `${proxyUrl}/v1`, tap } },
    close: async () => {
      await programs.close();
      await processes.close();
      await tap.close();
      await vendor.close();
    },
  };
}

const portOf = (url: string): number => Number(new URL(url).port);

/** An agent behind a sidecar, with a tap on each side: client → front → sidecar → back → agent. */
interface Chain {
  row: Row;
  matrix: Matrix;
  front: Tap;
  back: Tap;
  /** null: a plain POST. */
  client: Client | null;
  control: <T>(path: string) => Promise<T>;
  /** Text of every response so far. */
  recorded: { tokens: number; without: number };
}

/** Runs one row. Throws at the first failed assertion. */
export async function runRow(row: Row, matrix: Matrix): Promise<RowResult> {
  const { programs, processes, vendor, denying } = matrix;
  const [port = 0] = await freePorts(1);
  const back = await startTap(row.agent === undefined ? vendor.url : `http://127.0.0.1:${port}`);
  const manifest = await processes.file(`${row.name}.yaml`, manifestFor(row));
  const sidecar = await processes.startSidecar(portOf(back.url), manifest, SIDECAR_ENV);
  const front = await startTap(sidecar.proxyUrl);
  const agent =
    row.agent === undefined
      ? null
      : await programs.serve(row.agent, row.packages, {
          PORT: String(port),
          MODEL_URL: `${vendor.url}/v1`,
          DENYING_URL: denying.url,
          EVENTS_URL: `${sidecar.controlUrl}/events`,
        });
  const control = async <T>(path: string): Promise<T> =>
    (await (await fetch(`${sidecar.controlUrl}${path}`)).json()) as T;
  const client = row.client === undefined ? null : programs.client(row.client, row.packages);
  const recorded = { tokens: 0, without: 0 };
  const chain: Chain = { row, matrix, front, back, client, control, recorded };
  try {
    const forms: FormResult[] = [];
    for (const form of row.forms) forms.push(await runForm(form, chain));
    await checkUsageReport(chain);
    const cancel = await checkCancel(chain);
    const denial = await denialOf(chain);
    const versions = Object.fromEntries(row.shows.map((name) => [name, versionOf(name, row.packages)]));
    return { name: row.name, versions, forms, cancel, denial };
  } catch (error) {
    throw new Error(`${row.name}: ${agent?.output() ?? ''}`, { cause: error });
  } finally {
    await client?.close();
    await agent?.close();
    await sidecar.stop();
    await front.close();
    await back.close();
  }
}

/** Sends the request of one form to the agent at `url` and returns the client's result. */
async function ask(form: string, url: string, { row, client }: Chain, signal?: AbortSignal): Promise<string> {
  if (client !== null) return await client.call(form, row.agent === undefined ? `${url}/v1` : url);
  const response = await fetch(`${url}/v1/chat?answer=${encodeURIComponent(form)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'How much is six times seven?' }),
    ...(signal && { signal }),
  });
  return await response.text();
}

/** Retries, because responses of some frameworks occasionally differ due to concurrency. */
const ATTEMPTS = 5;

async function runForm(form: Form, chain: Chain): Promise<FormResult> {
  const what = `${chain.row.name}, ${form.name}`;
  for (let attempt = 1; ; attempt += 1) {
    // New ids for each attempt, because a call that an earlier response contained is not counted again.
    const scenario = { name: `${what} ${attempt}` };
    chain.matrix.vendor.begin(scenario);
    const without = withoutRandom(await ask(form.name, chain.back.url, chain), chain.row);
    const { response, result } = await askThrough(form, scenario, chain);
    const through = withoutRandom(response, chain.row);
    if (through === without) return result;
    if (attempt === ATTEMPTS) assert.equal(through, without, `${what}: differs without a sidecar`);
  }
}

async function askThrough(
  form: Form,
  scenario: Scenario,
  chain: Chain,
): Promise<{ response: string; result: FormResult }> {
  const { matrix, front, back } = chain;
  const what = scenario.name;
  matrix.vendor.begin(scenario);
  for (const tap of [front, back]) tap.clear();
  const known = await chain.control<AuditEntry[]>('/audit');
  const response = await ask(form.name, front.url, chain);
  await ended(chain);
  checkBytes(chain, what);
  const entries = (await completed(chain, known.length + front.exchanges.length)).slice(known.length);
  const result = resultOf(form, matrix.vendor, entries);
  checkTokens(form, result, matrix.vendor, `${what}: entries ${JSON.stringify(entries)}, sent ${response}`);
  chain.recorded.tokens += result.recorded;
  chain.recorded.without += result.callsWithoutUsage;
  return { response, result };
}

/** Waits until both sides have every response. A client may send a request that it does not wait for, such as GET of MCP. */
async function ended({ front, back }: Chain): Promise<void> {
  await until(
    () =>
      front.exchanges.length === back.exchanges.length &&
      [front, back].every((tap) => tap.exchanges.every(({ isOver }) => isOver)),
    () => `complete responses: ${JSON.stringify([front.exchanges, back.exchanges])}`,
  );
}

/** Asserts that the bytes on both sides of the sidecar are identical. */
function checkBytes({ front, back }: Chain, what: string): void {
  const text = ({ method, path, status, contentType, requestBody, body }: Exchange) =>
    JSON.stringify([
      method,
      path,
      status,
      contentType,
      requestBody.toString('latin1'),
      body.toString('latin1'),
    ]);
  // Requests on several connections may arrive in another order.
  const textsOf = ({ exchanges }: Tap) => exchanges.map(text).sort();
  assert.ok(front.exchanges.length > 0, `${what}: no request`);
  assert.ok(
    front.exchanges.every(({ status }) => status < 300 || status === 405),
    `${what}: ${front.exchanges.map(({ status, body }) => `${status} ${body.toString()}`).join('\n')}`,
  );
  assert.deepEqual(textsOf(front), textsOf(back), `${what}: bytes differ`);
}

const tokensOf = (calls: Vendor['calls']): number =>
  calls.reduce((all, call) => all + call.promptTokens + call.completionTokens, 0);

function resultOf({ name }: Form, vendor: Vendor, entries: readonly AuditEntry[]): FormResult {
  return {
    ...{ name, calls: vendor.calls.length, used: tokensOf(vendor.calls) },
    recorded: totalOf(entries.flatMap((entry) => callsOf(entry))).totalTokens,
    callsWithoutUsage: entries.reduce((all, entry) => all + callsWithoutUsageOf(entry), 0),
  };
}

function checkTokens({ tokens }: Form, result: FormResult, vendor: Vendor, seen: string): void {
  const { calls, recorded, callsWithoutUsage } = result;
  assert.ok(calls > 0, seen);
  const stated = vendor.calls.filter(({ isStated }) => isStated);
  const expected = tokens === 'exact' ? [tokensOf(stated), calls - stated.length] : [0, 1];
  assert.deepEqual([recorded, callsWithoutUsage], expected, seen);
}

/** Text that differs between runs in every framework. */
const RANDOM: readonly RegExp[] = [
  /\b127\.0\.0\.1:\d+/g,
  /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/g,
  /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?/g,
  // Seconds and milliseconds since 1970, later than the vendor's fixed time.
  /\b(?!1767225600\b)1[789]\d{8}(\d{3})?(\.\d+)?\b/g,
];

function withoutRandom(text: string, { random = [] }: Row): string {
  return [...RANDOM, ...random].reduce((rest, pattern) => rest.replace(pattern, '…'), text);
}

async function completed({ control }: Chain, count: number): Promise<AuditEntry[]> {
  let entries: AuditEntry[] = [];
  await until(
    async () => {
      entries = await control<AuditEntry[]>('/audit');
      return entries.filter(({ outcome }) => outcome !== undefined).length >= count;
    },
    () => `${count} complete entries: ${JSON.stringify(entries)}`,
  );
  return entries;
}

/** Asserts that the totals are the sums over all responses. */
async function checkUsageReport({ row, recorded, control }: Chain): Promise<void> {
  const { totalTokens, callsWithoutUsage } = await control<RingUsageReport>('/usage');
  assert.deepEqual({ tokens: totalTokens, without: callsWithoutUsage }, recorded, `${row.name}: GET /usage`);
}

/** The client disconnects during the response: the agent's connection is closed and, with most agents, the model's too. */
async function checkCancel(chain: Chain): Promise<RowResult['cancel']> {
  const { row, matrix, front, back } = chain;
  const { form, endsModelCall } = row.cancels;
  const { vendor } = matrix;
  vendor.begin({ name: `${row.name} cancel`, isHeld: true });
  for (const tap of [front, back]) tap.clear();
  if (row.client === undefined) {
    const left = new AbortController();
    const pending = ask(form, front.url, chain, left.signal).catch(() => undefined);
    await until(isAnswering(chain), () => `${row.name}: the held response`);
    left.abort();
    await pending;
  } else await ask('cancel', front.url, chain);
  await until(
    () => back.exchanges.some(({ isCut }) => isCut),
    () => `${row.name}: the agent's connection to be closed`,
  );
  if (endsModelCall && row.agent !== undefined)
    await until(
      () => vendor.calls.some(({ isCut }) => isCut),
      () => `${row.name}: the call of the model to be ended`,
    );
  vendor.release();
  return row.cancels;
}

/** Whether the model holds its last call; for a stream also whether the client has received its start. */
function isAnswering({ matrix, front }: Chain): () => boolean {
  return () => {
    const [exchange] = front.exchanges;
    const hasBegun = exchange !== undefined && (exchange.status === 0 || exchange.body.length > 0);
    return matrix.vendor.isHolding() && hasBegun;
  };
}

async function denialOf(chain: Chain): Promise<RowResult['denial']> {
  const { row, matrix, front, back } = chain;
  const [{ name: form } = { name: '' }] = row.forms;
  matrix.vendor.begin({ name: `${row.name} denial` });
  for (const tap of [front, back]) tap.clear();
  back.reports = ({ requestBody }) => (row.asks?.test(requestBody.toString()) === false ? {} : DENIED);
  const response = await ask(form, front.url, chain);
  back.reports = () => ({});
  const denied = front.exchanges.filter(({ status }) => status === 403);
  assert.ok(denied.length > 0, `${row.name}: is not denied: ${response}`);
  for (const { body } of denied)
    assert.equal((JSON.parse(body.toString()) as { error: string }).error, 'PolicyViolation');
  if (row.client !== undefined) {
    const { error } = JSON.parse(response) as { error: RaisedError[] };
    return { errors: shown(error), attempts: denied.length };
  }
  matrix.vendor.begin({ name: `${row.name} denied model` });
  const errors = JSON.parse(await ask('denied', back.url, chain)) as RaisedError[];
  return { errors: shown(errors), attempts: matrix.vendor.calls.length };
}

/** Removes run-specific text, and errors that only repeat their outer error. */
function shown(errors: readonly RaisedError[]): RaisedError[] {
  const plain = errors.map((error) => ({
    ...error,
    message: error.message.replace(/127\.0\.0\.1:\d+/g, 'localhost:4000'),
  }));
  return plain.filter(({ type, message }, index) => {
    const around = plain[index - 1];
    return around?.type !== type || around.message !== message;
  });
}
