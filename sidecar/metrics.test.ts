import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startFakeEngine, type FakeEngine } from '../testing/sidecar/fake-engine.ts';
import { ask, askRaw } from '../testing/sidecar/proxy-rig.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';

const REPORTING = { 'X-Platform-Guardrails-Invoked': 'pii-detector' };
const USAGE = { model: 'gpt-5', usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } };

describe('the metrics after a request of each outcome contain', () => {
  let rig: SidecarRig;
  let engine: FakeEngine;
  let metrics: string;
  beforeAll(async () => {
    engine = await startFakeEngine(({ guardrails_invoked }) => ({
      result: guardrails_invoked?.includes('denied') ? ['no'] : [],
    }));
    rig = await startSidecarRig({
      manifest: manifestText({ guardrails: { input: [{ type: 'pii-detector' }] } }),
      env: { POLICY_URL: engine.url, POLICY_ENGINE: 'opa', POLICY_TIMEOUT_MS: '30000', AUDIT_RING_SIZE: '2' },
    });
    rig.agent.otherwise = (request, response) => {
      const reported = { '/allow': REPORTING, '/deny': { 'X-Platform-Guardrails-Invoked': 'denied' } };
      const headers =
        reported[request.url as keyof typeof reported] ?? (request.url === '/open' ? REPORTING : {});
      response.writeHead(200, { ...headers, 'content-type': 'application/json' });
      response.end(request.url === '/v1/chat' ? JSON.stringify(USAGE) : '{}');
    };
    const port = rig.sidecar.proxyPort;
    for (const path of ['/allow', '/deny']) await ask(port, { path });
    await ask(port, { method: 'POST', path: '/v1/chat' });
    await askRaw(port, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    await engine.stop();
    await ask(port, { path: '/open' });
    await rig.settled();
    const deadline = Date.now() + 30_000;
    do metrics = await (await rig.control('/metrics')).text();
    while (/fail_open_seconds_total 0$/m.test(metrics) && Date.now() < deadline);
  });
  afterAll(async () => {
    await rig.close();
  });

  test.each([
    ['allowed requests', /^platform_sidecar_requests_total\{outcome="allow"\} 1$/m],
    ['denied requests', /^platform_sidecar_requests_total\{outcome="deny"\} 1$/m],
    ['requests that passed during an outage', /^platform_sidecar_requests_total\{outcome="failOpen"\} 1$/m],
    ['requests that were not evaluated', /^platform_sidecar_requests_total\{outcome="notEvaluated"\} 1$/m],
    ['the number of overhead measurements', /^platform_sidecar_overhead_seconds_count 4$/m],
    ['the overhead histogram', /^platform_sidecar_overhead_seconds_bucket\{le="\+Inf"\} 4$/m],
    ['the duration of policy queries', /^platform_sidecar_policy_seconds_count\{state="\w+"\} \d+$/m],
    ['events that were rejected', /^platform_sidecar_events_dropped_total\{reason="entry_full"\} 0$/m],
    ['events that were removed', /^platform_sidecar_events_dropped_total\{reason="ring_full"\} 0$/m],
    ['memory of events', /^platform_sidecar_event_bytes 0$/m],
    ['requests rejected for overload', /^platform_sidecar_overload_total\{action="refused"\} 0$/m],
    ['connections that started with HTTP/2', /^platform_sidecar_http2_refused_total 1$/m],
    ['overwritten audit entries', /^platform_sidecar_audit_dropped_total 2$/m],
    ['prompt tokens', /^platform_sidecar_tokens_total\{kind="prompt"\} 3$/m],
    ['completion tokens', /^platform_sidecar_tokens_total\{kind="completion"\} 4$/m],
    ['tokens of today', /^platform_sidecar_tokens_today\{instances="this"\} 7$/m],
    ['seconds without the engine', /^platform_sidecar_policy_fail_open_seconds_total [\d.]*[1-9]/m],
    ['the version', /^platform_sidecar_build_info\{version="[^"]+"\} 1$/m],
  ])('%s', (_title, line) => {
    expect(metrics).toMatch(line);
  });
});
