import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { AGENT_CARD_PATH, AgentCard, Role, type Message } from '@a2a-js/sdk';
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from '@a2a-js/sdk/client';
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server';
import { jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { afterEach, describe, expect, test } from '@jest/globals';
import express from 'express';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { Api } from '../../core/manifest/manifest.ts';
import { messageOf, textOf, textPart } from '../../testing/sidecar/a2a-messages.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';

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
  api: {
    url: 'https://shop.example',
    a2a: { protocolBinding: 'JSONRPC', path: '/a2a' },
    streaming: true,
    chatEndpoint: { path: '/v1/chat' },
  },
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
          { url: 'https://shop.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
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

  test('knows every member of the card, so that its own types keep all members', async () => {
    await start(spec);
    const card = await rig.report<Record<string, unknown>>('/capabilities');
    expect(AgentCard.toJSON(AgentCard.fromJSON(card))).toMatchObject(card);
  });

  test.each<[string, Api]>([
    ['no API', {}],
    [
      'a public address and a chat endpoint',
      { url: 'https://shop.example', chatEndpoint: { path: '/chat' } },
    ],
    ['an A2A interface behind a reference', { url: '$env:URL', a2a: { protocolBinding: 'JSONRPC' } }],
  ])(
    'reads a card without an interface from a manifest with %s, and creates no client',
    async (_title, api) => {
      const url = await start({ api });
      expect((await new DefaultAgentCardResolver().resolve(url)).supportedInterfaces).toEqual([]);
      await expect(new ClientFactory().createFromUrl(url)).rejects.toThrow('No compatible transport');
    },
  );
});

/** Responds to each message with its text in capitals. */
const executor: AgentExecutor = {
  execute: ({ contextId, userMessage }: RequestContext, bus: ExecutionEventBus) => {
    const text = textOf(userMessage.parts[0]).toUpperCase();
    bus.publish(
      AgentEvent.message({
        ...{ messageId: randomUUID(), contextId, taskId: '', role: Role.ROLE_AGENT, parts: [textPart(text)] },
        ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
      }),
    );
    bus.finished();
    return Promise.resolve();
  },
  cancelTask: () => Promise.resolve(),
};

type A2a = NonNullable<Api['a2a']>;

/** An agent that serves only this interface, at /agent/a2a. */
function agentWith({ protocolBinding, protocolVersion = '1.0' }: A2a): RequestListener {
  const card = AgentCard.fromJSON({
    ...{ name: 'shop', description: 'Sells', version: '1.0.0', capabilities: { streaming: true } },
    supportedInterfaces: [{ url: 'http://agent/agent/a2a', protocolBinding, protocolVersion }],
  });
  const options = {
    requestHandler: new DefaultRequestHandler(card, new InMemoryTaskStore(), executor),
    userBuilder: UserBuilder.noAuthentication,
    legacyCompat: { enabled: protocolVersion === '0.3' },
  };
  const handler = protocolBinding === 'JSONRPC' ? jsonRpcHandler(options) : restHandler(options);
  return express().use('/agent/a2a', handler);
}

/** Creates the SDK's client from the card of a sidecar. The public address in the card is the address of the proxy. */
async function clientOf(a2a: A2a): Promise<Client> {
  const url = await start({});
  rig.agent.otherwise = agentWith(a2a);
  await writeFile(rig.manifestPath, manifestText({ api: { url: `${rig.proxyUrl}/agent`, a2a } }));
  let card: { supportedInterfaces?: unknown[] } = {};
  const deadline = Date.now() + 120_000;
  while (card.supportedInterfaces?.length !== 1 && Date.now() < deadline)
    card = await rig.report<typeof card>('/capabilities');
  const options = { legacyCompat: { enabled: a2a.protocolVersion === '0.3' } };
  const transports = [new JsonRpcTransportFactory(options), new RestTransportFactory(options)];
  return new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports }),
  ).createFromUrl(url);
}

describe('a client that the SDK creates from the card calls the agent through the sidecar', () => {
  test.each<[A2a, string]>([
    [{ protocolBinding: 'JSONRPC', path: '/a2a' }, '/agent/a2a'],
    [{ protocolBinding: 'HTTP+JSON', path: '/a2a' }, '/agent/a2a/message:send'],
    [{ protocolBinding: 'JSONRPC', path: '/a2a', protocolVersion: '0.3' }, '/agent/a2a'],
    [{ protocolBinding: 'HTTP+JSON', path: '/a2a', protocolVersion: '0.3' }, '/agent/a2a/v1/message:send'],
  ])('%o', async (a2a, path) => {
    const client = await clientOf(a2a);
    const reply = (await client.sendMessage(messageOf('hello'))) as Message;
    expect(reply.parts.map(textOf)).toEqual(['HELLO']);
    await rig.settled();
    const entries = await rig.report<AuditEntry[]>('/audit');
    expect(entries).toMatchObject([{ method: 'POST', path }]);

    const streamed: string[] = [];
    for await (const { payload } of client.sendMessageStream(messageOf('again')))
      if (payload?.$case === 'message') streamed.push(...payload.value.parts.map(textOf));
    expect(streamed).toEqual(['AGAIN']);
  });
});
