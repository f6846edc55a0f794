// Tests the OTLP receiver with real instrumentation packages. The response of the agents shows no token and no tool, so everything
// that the sidecar knows comes from their spans.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { BehavioralEvent } from '../../core/shapes/events.ts';
import type { RingUsageReport } from '../../core/shapes/sidecar-reports.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { manifestText, startSidecarRig } from '../sidecar/sidecar-rig.ts';
import { INSTRUMENTED_ROWS, type InstrumentedRow } from './instrumented-rows.ts';
import { Programs, versionOf, whyNoPackages } from './programs.ts';
import { until } from '../time/until.ts';
import { startVendor, type Vendor } from './vendor.ts';

let vendor: Vendor;
let programs: Programs;
beforeAll(async () => {
  [vendor, programs] = [await startVendor(), new Programs()];
});
afterAll(async () => {
  await programs.close();
  await vendor.close();
});

const MANIFEST = manifestText({
  guardrails: { input: [{ type: 'pii-detector' }] },
  tools: [{ name: 'multiply', description: 'multiplies two numbers' }],
});

const eventsOf = <T extends BehavioralEvent['type']>(entry: AuditEntry | undefined, type: T) =>
  (entry?.events ?? []).filter((event): event is BehavioralEvent & { type: T } => event.type === type);

/** Asks the agent once and returns its entry when all its spans have arrived. */
async function entryOf(row: InstrumentedRow): Promise<{ entry: AuditEntry; usage: RingUsageReport }> {
  const [port = 0, otlpPort = 0] = await freePorts(2);
  const rig = await startSidecarRig({
    manifest: MANIFEST,
    env: {
      ...{ UPSTREAM_URL: `http://127.0.0.1:${port}`, OTLP_PORT: String(otlpPort) },
      ...{ POLICY_ENGINE: 'builtin', OPENAI_API_KEY: 'key' },
    },
  });
  const agent = await programs.serve(row.program, row.packages, {
    ...{ PORT: String(port), MODEL_URL: `${vendor.url}/v1`, OTEL_SDK_DISABLED: 'false' },
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${otlpPort}/v1/traces`,
    ...row.env,
  });
  try {
    vendor.begin({ name: row.name });
    const response = await fetch(`${rig.proxyUrl}/v1/chat`, { method: 'POST', body: '{}' });
    expect([response.status, await response.text()]).toEqual([200, 'Six times seven is “42”.']);
    let entry: AuditEntry | undefined;
    // Instrumentation exports its spans after at most five seconds.
    await until(
      async () => {
        [entry] = await rig.report<AuditEntry[]>('/audit');
        return eventsOf(entry, 'model').length >= 3 && eventsOf(entry, 'tool').length >= 2;
      },
      () => JSON.stringify({ entry, log: rig.log }),
    );
    return { entry: entry!, usage: await rig.report<RingUsageReport>('/usage') };
  } catch (error) {
    const versions = row.shows.map((name) => `${name} ${versionOf(name, row.packages)}`);
    throw new Error(`${versions.join(', ')}: ${agent.output()}`, { cause: error });
  } finally {
    await agent.close();
    await rig.close();
  }
}

describe('spans are recorded with the tokens, tools and guardrails of the request', () => {
  for (const row of INSTRUMENTED_ROWS.filter(
    ({ isFast }) => isFast === true || process.env['SOAK'] === '1',
  )) {
    const run = whyNoPackages(row.packages) === undefined ? test : test.skip;
    run(row.name, async () => {
      const { entry, usage } = await entryOf(row);
      const calls = eventsOf(entry, 'model');
      const truth = vendor.calls.map(({ promptTokens, completionTokens }) => [
        promptTokens,
        completionTokens,
      ]);
      expect(calls.map((call) => [call.promptTokens, call.completionTokens])).toEqual(truth);
      expect(new Set(calls.map(({ modelId }) => modelId))).toEqual(new Set(['gpt-4o-mini']));
      expect(entry.toolsCalled).toEqual(['multiply']);
      expect(eventsOf(entry, 'tool').map(({ success }) => success)).toEqual([true, true]);
      expect(entry.guardrailsInvoked).toEqual(['pii-detector']);
      expect(new Set(entry.events?.map(({ source }) => source))).toEqual(new Set(['span']));
      const sum = truth.flat().reduce((total, count) => total + count, 0);
      expect(usage).toMatchObject({ totalTokens: sum, totalCalls: 3, callsWithoutUsage: 0 });
    });
  }
});
