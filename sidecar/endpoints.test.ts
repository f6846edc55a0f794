import { afterEach, describe, expect, test } from '@jest/globals';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';

const CARD_PATH = '/.well-known/agent-card.json';
const guardrails = { input: [{ type: 'pii-detector' }] };
const tools = [{ name: 'search' }];

let rig: SidecarRig;
afterEach(() => rig.close());

interface Gap {
  score: number;
  issues: { property: string; description: string }[];
}

async function issuesOf(options: Parameters<typeof startSidecarRig>[0]): Promise<Record<string, string>> {
  rig = await startSidecarRig(options);
  const { issues } = await rig.report<Gap>('/gap');
  return Object.fromEntries(issues.map(({ property, description }) => [property, description]));
}

describe('the endpoints declared in the manifest', () => {
  const api = { healthEndpoint: '/livez', capabilitiesEndpoint: '/api/tools' };

  test('are probed instead of the default endpoints', async () => {
    const agent = { '/livez': 204, '/api/tools': { tools: ['search'] } };
    expect(await issuesOf({ manifest: manifestText({ guardrails, tools, api }), agent })).toEqual({});
    expect(rig.agent.asked).toEqual({
      '/livez': 1,
      '/api/tools': 1,
      [CARD_PATH]: 1,
      '/platform/health': 1,
    });
  });

  test('appear in issues, alignment and explore report when they fail', async () => {
    const manifest = manifestText({ guardrails, tools, api });
    expect(
      await issuesOf({ manifest, agent: { '/health': 200, '/capabilities': 200, '/livez': 503 } }),
    ).toEqual({
      healthcheckable: 'GET /livez on the agent returned 503.',
      discoverable: `GET /api/tools on the agent returned 404, and GET ${CARD_PATH} returned no agent card.`,
    });
    expect(await rig.report('/gap?view=alignment')).toMatchObject({
      gaps: [
        { field: 'spec.api.healthEndpoint', declared: 'GET /livez', observed: 'HTTP 503' },
        { field: 'spec.api.capabilitiesEndpoint', declared: 'GET /api/tools', observed: 'HTTP 404' },
      ],
    });
    expect(await rig.report('/explore')).toMatchObject({
      endpoints: {
        health: { path: '/livez', status: 503 },
        capabilities: { path: '/api/tools', status: 404 },
        agentCard: { path: CARD_PATH, status: 404 },
      },
      declaredNotChecked: [],
    });
  });

  test('may be variables that the sidecar shares with the agent', async () => {
    const manifest = manifestText({ guardrails, api: { healthEndpoint: '$env:HEALTH' } });
    const agent = { '/livez': 200, '/capabilities': 200 };
    expect(await issuesOf({ manifest, agent, env: { HEALTH: '/livez' } })).toEqual({});
  });

  test('are replaced by the default endpoints, with a note, when only the agent has the variable', async () => {
    const manifest = manifestText({ guardrails, api: { healthEndpoint: '$env:HEALTH' } });
    const why = "the agent's variable HEALTH cannot be read from here";
    const env = { HEALTH: '/livez', AGENT_ENV_NAMES: 'HEALTH' };
    expect(await issuesOf({ manifest, agent: { '/livez': 200, '/capabilities': 200 }, env })).toEqual({
      healthcheckable: `GET /health on the agent returned 404. The path that spec.api.healthEndpoint declares was not probed: ${why}.`,
    });
    expect(await rig.report('/explore')).toMatchObject({
      endpoints: { health: { path: '/health', note: `the declared path was not probed: ${why}` } },
    });
    expect(rig.log.filter(([level]) => level === 'warn').map(([, , fields]) => fields)).toMatchObject([
      { path: 'spec.api.healthEndpoint' },
    ]);
  });
});

test('an HTML page is not a capability card', async () => {
  const manifest = manifestText({ guardrails, tools });
  rig = await startSidecarRig({ manifest, agent: { '/health': 200 } });
  rig.agent.otherwise = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Agent</title>');
  };
  const gap = await rig.report('/gap?view=alignment');
  expect(gap['gaps']).toMatchObject([
    { observed: expect.stringContaining('must be JSON') },
    { declared: 'GET /capabilities', observed: 'HTML page', severity: 'medium' },
  ]);
});

test('an agent card makes an agent discoverable and lists tools as skills', async () => {
  const agent = { '/health': 200, [CARD_PATH]: { name: 'shop', skills: [{ id: 'search' }] } };
  const manifest = manifestText({ guardrails, tools: [...tools, { name: 'pay' }] });
  expect(await issuesOf({ manifest, agent })).toEqual({
    'discoverable.pay': `The tool pay is declared, but GET ${CARD_PATH} does not list it.`,
  });
});
