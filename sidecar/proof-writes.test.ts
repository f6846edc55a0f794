import { afterEach, describe, expect, test } from '@jest/globals';
import { RULE_IDS } from '../core/audit/rules.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';

const SUBMISSION = { verifiedBy: 'auditor@example.com', method: 'reviewed' };
const datasets = { evaluation: { datasets: [{ name: 'basic', path: 'basic.jsonl' }] } };

let rig: SidecarRig;
afterEach(() => rig.close());

const start = async (env: Record<string, string>): Promise<void> => {
  rig = await startSidecarRig({
    manifest: manifestText({ guardrails: { input: [{ type: 'pii-detector' }] }, ...datasets }),
    agent: { '/health': 200, '/capabilities': 200 },
    env,
  });
};
const post = (ruleId: string, prefix = ''): Promise<Response> =>
  rig.control(`${prefix}/proof/rule/${ruleId}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(SUBMISSION),
  });

test.each([
  [{}, 'local'],
  [{ PROOF_WRITES: 'local' }, 'local'],
  [{ PROOF_WRITES: 'control-plane' }, 'control-plane'],
])('with %j GET /proof has the header value %s', async (env, expected) => {
  await start(env);
  for (const path of ['/proof', '/platform/proof'])
    expect((await rig.control(path)).headers.get('x-platform-proof-writes')).toBe(expected);
});

describe('with PROOF_WRITES=control-plane', () => {
  test.each(['', '/platform'])(
    'rejects 27 proofs from the agent itself under "%s" with 403 and stores nothing',
    async (prefix) => {
      await start({ PROOF_WRITES: 'control-plane' });
      for (const ruleId of RULE_IDS) {
        const response = await post(ruleId, prefix);
        expect([response.status, response.headers.get('content-type')]).toEqual([
          403,
          'application/problem+json; charset=utf-8',
        ]);
        expect(await response.json()).toMatchObject({
          status: 403,
          title: 'Forbidden',
          detail: expect.stringContaining(`POST /api/v1/agents/shop/proof/rule/${ruleId} `),
        });
      }
      expect(await rig.report('/proof')).toEqual([]);
      expect(await rig.report('/gap')).toMatchObject({ score: 95, issues: [{ property: 'evaluated' }] });
    },
  );

  test.each([
    ['DELETE', '/proof/rule/MEM-01', 'DELETE /api/v1/agents/shop/proof/rule/MEM-01 '],
    ['DELETE', '/proof/rule/SEC-99', 'DELETE /api/v1/agents/shop/proof/rule/{ruleId} '],
    ['POST', '/proof/rule/%0d%0aSEC-99', 'POST /api/v1/agents/shop/proof/rule/{ruleId} '],
  ])('rejects %s %s with 403, for any body and rule', async (method, path, route) => {
    await start({ PROOF_WRITES: 'control-plane' });
    const response = await rig.control(path, { method });
    expect(response.status).toBe(403);
    expect(((await response.json()) as { detail: string }).detail).toContain(route);
  });

  test('names the route with the agent name of the pod', async () => {
    await start({ PROOF_WRITES: 'control-plane', AGENT_NAME: 'store' });
    expect(await (await post('MEM-01')).json()).toMatchObject({
      detail: expect.stringContaining('/api/v1/agents/store/proof/rule/MEM-01'),
    });
  });
});
