import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { expect, test } from '@jest/globals';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { parseBehaviorHeaders } from '../core/behavior/parse-behavior-headers.ts';
import { diceOf } from '../testing/random/dice.ts';
import { SEED } from '../testing/random/seed.ts';
import { createRequestBehavior, type HeadWriter, type RequestBehavior } from './request-behavior.ts';

/** Concurrent requests in common frameworks: no response may contain the behavior of another request. */

const dice = diceOf(SEED);

function aBehavior(response: HeadWriter | null = null): RequestBehavior {
  return createRequestBehavior({
    response,
    sendEvent: () => true,
    countUsage: () => true,
    onLost: ({ name, reason }) => {
      throw new Error(`${name}: ${reason}`);
    },
  });
}

/** The same work in each framework: a guardrail, a pause and a tool, all named after the request's id. */
async function work(behavior: RequestBehavior, id: string): Promise<void> {
  behavior.guardrail(`guard-${id}`);
  await sleep(dice() * 20);
  behavior.tool(`tool-${id}`);
}

const FRAMEWORKS: readonly [string, () => Promise<{ url: string; close: () => Promise<unknown> }>][] = [
  [
    'Express',
    async () => {
      const app = express();
      app.get('/:id', (request, response) => {
        void work(aBehavior(response), request.params.id).then(() => response.json('done'));
      });
      return listening(createServer(app));
    },
  ],
  [
    'Fastify',
    async () => {
      const app = fastify();
      app.get<{ Params: { id: string } }>('/:id', async (request, reply) => {
        await work(aBehavior(reply.raw), request.params.id);
        return { done: true };
      });
      const url = await app.listen({ port: 0, host: '127.0.0.1' });
      return { url, close: () => app.close() };
    },
  ],
  [
    'Hono',
    async () => {
      const app = new Hono();
      app.get('/:id', async (context) => {
        const behavior = aBehavior();
        await work(behavior, context.req.param('id'));
        return context.json('done', 200, behavior.headers());
      });
      const listen = getRequestListener(app.fetch);
      return listening(createServer((request, response) => void listen(request, response)));
    },
  ],
];

async function listening(server: Server): Promise<{ url: string; close: () => Promise<unknown> }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

test.each(FRAMEWORKS)(
  'in %s each of a hundred responses reports only the behavior of its own request',
  async (_name, start) => {
    const { url, close } = await start();
    const ids = Array.from({ length: 100 }, (_, id) => String(id));
    const results = await Promise.all(
      ids.map(async (id) => {
        const response = await fetch(`${url}/${id}`);
        await response.text();
        return parseBehaviorHeaders(new Map(response.headers));
      }),
    );
    await close();
    expect(results).toEqual(
      ids.map((id) => ({ guardrailsInvoked: [`guard-${id}`], toolsCalled: [`tool-${id}`] })),
    );
  },
);
