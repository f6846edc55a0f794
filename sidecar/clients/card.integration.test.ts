import { AGENT_CARD_PATH, AgentCard } from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { afterEach, describe, expect, test } from '@jest/globals';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar-rig.ts';

let rig: SidecarRig;
afterEach(() => rig.close());
const start = async (spec: object): Promise<string> => {
  rig = await startSidecarRig({
    manifest: manifestText(spec, { tags: ['retail', 'näh'], description: 'Sells “things”' }),
  });
  return `http://127.0.0.1:${rig.sidecar.controlPort}`;
};
const spec = {
  tools: [
    { name: 'search', description: 'Finds things' },
    { name: 'pay', annotations: { destructiveHint: true } },
  ],
  skills: [{ id: 'returns', version: '2' }],
  api: { url: 'https://shop.example/a2a', streaming: true, chatEndpoint: { path: '/v1/chat' } },
};

describe('the official A2A SDK', () => {
  test.each(['/capabilities', '/platform/capabilities', AGENT_CARD_PATH, `platform/${AGENT_CARD_PATH}`])(
    'reads the card of the running sidecar at %s',
    async (path) => {
      const url = await start(spec);
      const card = await new DefaultAgentCardResolver().resolve(url, path);
      expect(card).toMatchObject({
        name: 'shop',
        description: 'Sells “things”',
        version: '1.0.0',
        capabilities: { streaming: true, pushNotifications: false },
        defaultInputModes: ['text/plain', 'application/json'],
        defaultOutputModes: ['text/plain', 'application/json'],
        supportedInterfaces: [
          { url: 'https://shop.example/a2a', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
        ],
        skills: [
          { id: 'search', name: 'search', description: 'Finds things', tags: ['tool', 'retail', 'näh'] },
          { id: 'pay', name: 'pay', description: 'The tool pay', tags: ['tool', 'retail', 'näh'] },
          {
            id: 'returns',
            name: 'returns',
            description: 'The skill returns 2',
            tags: ['skill', 'retail', 'näh'],
          },
        ],
      });
    },
  );

  test('knows every member of the card: nothing is lost on the way through its own types', async () => {
    await start(spec);
    const card = await rig.report<Record<string, unknown>>('/capabilities');
    expect(AgentCard.toJSON(AgentCard.fromJSON(card))).toMatchObject(card);
  });

  test('makes a client of it that speaks to the agent’s public address', async () => {
    const client = await new ClientFactory().createFromUrl(await start(spec));
    expect((await client.getAgentCard()).supportedInterfaces[0]?.url).toBe('https://shop.example/a2a');
  });

  test('reads a card without an interface: none is invented, and no client can be made', async () => {
    const url = await start({});
    expect((await new DefaultAgentCardResolver().resolve(url)).supportedInterfaces).toEqual([]);
    await expect(new ClientFactory().createFromUrl(url)).rejects.toThrow();
  });
});
