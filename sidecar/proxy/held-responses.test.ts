import { afterEach, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { PolicyResult } from '../../core/policy/engine.ts';
import { ask, startRig, type ProxyRig } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

let rig: ProxyRig | undefined;
afterEach(() => rig?.close());

const SAFE = { 'X-Platform-Guardrails-Invoked': 'pii-detector' };
const ALLOWED: PolicyResult = { state: 'answered', denials: [] };

test('an agent cannot send without limit while its response waits for the decision', async () => {
  const decision = Promise.withResolvers<PolicyResult>();
  let isAsked = false;
  // More than the buffers of the kernel hold.
  const body = Buffer.alloc(32 * 1024 * 1024, 'x');
  const arrived = Promise.withResolvers<ServerResponse>();
  rig = await startRig(
    (_request, response) => {
      response.writeHead(200, { ...SAFE, 'Content-Length': body.length }).end(body);
      arrived.resolve(response);
    },
    {
      mode: 'enforce',
      engine: {
        evaluate: () => {
          isAsked = true;
          return decision.promise;
        },
      },
    },
  );
  const received = ask(rig.port);
  // Rejects if the test fails before its end.
  received.catch(() => undefined);
  const response = await arrived.promise;
  await until(() => isAsked, 'the query');
  // Long enough to read all of it, if it were read.
  let turns = 0;
  await until(() => (turns += 1) > 100, 'time to read');
  expect(response.writableLength + (response.socket?.writableLength ?? 0)).toBeGreaterThan(0);
  decision.resolve(ALLOWED);
  expect((await received).body).toHaveLength(body.length);
});
