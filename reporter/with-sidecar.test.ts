import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../core/shapes/audit-entry.ts';
import { POLICY_RULES } from '../core/policy/rules.ts';
import { plainManifest } from '../testing/manifests/plain-manifest.ts';
import { startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';
import { createReporter, type Reporter } from './index.ts';

const MANIFEST = {
  ...plainManifest(
    'corner-shop',
    POLICY_RULES.map(({ reason }) => reason),
  ),
};

let rig: SidecarRig;
let reporter: Reporter;

beforeEach(async () => {
  const env = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' };
  rig = await startSidecarRig({
    manifest: JSON.stringify(MANIFEST),
    env: { ...env, POLICY_ENGINE: 'builtin', POLICY_PROXY_MODE: 'enforce' },
  });
  const sidecarUrl = `http://127.0.0.1:${rig.sidecar.controlPort}`;
  reporter = createReporter({ manifest: MANIFEST, env, sidecarUrl, tools: ['drop'] });
  reporter.start();
});
afterEach(async () => {
  await reporter.stop();
  await rig.close();
});

/** The entry of the chat request in the sidecar's audit ring. */
async function entry(): Promise<AuditEntry | undefined> {
  await reporter.events.flush(60_000);
  await rig.settled();
  return (await rig.report<AuditEntry[]>('/audit')).find(({ path }) => path === '/chat');
}

describe('an agent with a reporter behind the sidecar', () => {
  test('provides its health and usage to the sidecar', async () => {
    rig.agent.otherwise = (request, response) => {
      if (!reporter.handle(request, response)) response.end();
    };
    reporter.recordUsage('gpt', 3, 4);
    const usage = await rig.report('/usage');
    const ready = await rig.report<{ source: string; checks: { id: string; status: string }[] }>(
      '/health/ready',
    );
    expect([usage['source'], usage['totalTokens'], ready.source]).toEqual(['agent-sdk', 7, 'agent-sdk']);
    expect(ready.checks.map(({ id, status }) => `${id} ${status}`)).toEqual([
      'env:OPENAI_API_KEY pass',
      'model:openai/gpt-4.1 fail',
      'memory:shortTerm skip',
      'tool:drop pass',
      'agent:upstream pass',
    ]);
  });

  test('reports behavior in headers, which the sidecar audits and removes from the response', async () => {
    rig.agent.otherwise = (request, response) => {
      const behavior = reporter.behavior(request, response);
      behavior.guardrail('pii-detector');
      behavior.tool('drop');
      behavior.confirmed();
      response.end('done');
    };
    const response = await fetch(`${rig.proxyUrl}/chat`);
    expect([response.status, await response.text()]).toEqual([200, 'done']);
    expect([...response.headers.keys()].filter((name) => name.startsWith('x-platform'))).toEqual([]);
    expect(await entry()).toMatchObject({
      outcome: 'allow',
      guardrailsInvoked: ['pii-detector'],
      toolsCalled: ['drop'],
      userConfirmed: true,
    });
  });

  test('is denied without its guardrail, because empty headers mean that nothing ran', async () => {
    rig.agent.otherwise = (request, response) => {
      reporter.behavior(request, response);
      response.end('done');
    };
    const response = await fetch(`${rig.proxyUrl}/chat`);
    expect([response.status, response.headers.get('x-platform-policy-violations')]).toEqual([
      403,
      'pii_detector_not_invoked',
    ]);
  });

  test('reports details and data after the head as events of the same request', async () => {
    let finish = (): void => undefined;
    rig.agent.otherwise = (request, response) => {
      const behavior = reporter.behavior(request, response);
      behavior.guardrail('pii-detector');
      behavior.tool('検索', { success: true });
      response.write('streams');
      finish = () => {
        behavior.guardrail('toxicity-filter', { score: 0.9, blocked: true });
        response.end();
      };
    };
    const response = await fetch(`${rig.proxyUrl}/chat`);
    finish();
    expect([response.status, await response.text()]).toEqual([200, 'streams']);
    expect(await entry()).toMatchObject({
      guardrailsInvoked: ['pii-detector', 'toxicity-filter'],
      toolsCalled: ['検索'],
      policyViolations: ['toxicity_threshold_exceeded'],
      lateDenial: true,
    });
    expect(reporter.events.counts()).toEqual({ delivered: 2, dropped: 0, queued: 0 });
  });

  test('reports the same with Request and Response', async () => {
    rig.agent.otherwise = (request, response) => {
      const fetchRequest = new Request('http://agent/chat', {
        headers: request.headers as Record<string, string>,
      });
      const behavior = reporter.behavior(fetchRequest);
      behavior.guardrail('pii-detector');
      const fetchResponse = new Response('done', { headers: behavior.headers() });
      behavior.tool('search');
      response.writeHead(fetchResponse.status, Object.fromEntries(fetchResponse.headers)).end('done');
    };
    expect((await fetch(`${rig.proxyUrl}/chat`)).status).toBe(200);
    expect(await entry()).toMatchObject({ guardrailsInvoked: ['pii-detector'], toolsCalled: ['search'] });
  });

  test('sends events with reporter.events', async () => {
    rig.agent.otherwise = (request, response) => {
      const id = String(request.headers['x-request-id']);
      reporter.events.send(id, [
        { type: 'model', modelId: 'gpt', promptTokens: 23, completionTokens: 15 },
        { type: 'memory', backend: 'redis', ttlSeconds: 7 },
      ]);
      response.end();
    };
    await (await fetch(`${rig.proxyUrl}/chat`)).text();
    expect(await entry()).toMatchObject({ events: [{ type: 'model' }, { type: 'memory', ttlSeconds: 7 }] });
  });
});
