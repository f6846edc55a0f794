import { afterEach, describe, expect, test } from '@jest/globals';
import type { RequestListener } from 'node:http';
import type { PolicyResult } from '../../core/policy/engine.ts';
import {
  ask,
  askRaw,
  completedEntry,
  startRig,
  type ProxyRig,
  type RigOptions,
} from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';
import type { Recording } from '../audit/recording.ts';

let rig: ProxyRig;
afterEach(() => rig.close());

const SAFE = { 'X-Platform-Guardrails-Invoked': 'pii-detector' };
const LATER: RigOptions = {
  mode: 'enforce',
  engine: {
    evaluate: () => new Promise((resolve) => setImmediate(() => resolve({ state: 'answered', denials: [] }))),
  },
};
const FAILING: RigOptions = {
  mode: 'enforce',
  engine: { evaluate: () => Promise.reject<PolicyResult>(new Error('thrown')) },
};

const responses: RequestListener = (_request, response) => void response.writeHead(200, SAFE).end('ok');
/** Its head reports nothing, so only its trailers are recorded as behavior. */
const responsesWithTrailers: RequestListener = (_request, response) => {
  response.writeHead(200, { Trailer: 'X-Platform-Guardrails-Invoked' }).write('ok');
  response.addTrailers(SAFE);
  response.end();
};

/** The recording of each request throws in this method. `hasBehavior`: only if there is behavior. */
function breakRecording(method: keyof Recording, hasBehavior = false): void {
  const arrive = rig.audit.arrive.bind(rig.audit);
  rig.audit.arrive = (arrival) =>
    Object.assign(arrive(arrival), {
      [method]: (platform: ReadonlyMap<string, string>) => {
        if (!hasBehavior || platform.size > 0) throw new Error('thrown');
      },
    });
}

describe('an error of the sidecar itself ends the exchange, and is logged once', () => {
  test.each<
    [
      string,
      { agent?: RequestListener; options?: RigOptions; broken?: Parameters<typeof breakRecording> },
      number | null,
    ]
  >([
    ['before the request is sent', { broken: ['sent'] }, 502],
    ['at the head', { broken: ['head'] }, 502],
    ['while the policy judges', { options: FAILING }, 502],
    ['after the decision', { options: LATER, broken: ['judged'] }, 502],
    ['in the body', { broken: ['chunk'] }, null],
    ['in a body that waited for the decision', { options: LATER, broken: ['chunk'] }, null],
    ['at the end', { agent: responsesWithTrailers, broken: ['behavior', true] }, null],
  ])('%s', async (_when, { agent = responses, options, broken }, status) => {
    rig = await startRig(agent, options);
    if (broken !== undefined) breakRecording(...broken);
    const response = await ask(rig.port).then(
      (complete) => complete.status,
      () => null,
    );
    expect(response).toBe(status);
    expect(rig.log).toEqual([
      [
        'error',
        'failed to process upstream response',
        expect.objectContaining({ kind: 'broken', error: expect.stringContaining('thrown') }),
      ],
    ]);
    expect(await completedEntry(rig)).toMatchObject({ upstreamFailure: 'broken' });
  });
});

test.each<[string, RequestListener]>([
  ['before the head', (request) => void request.socket.destroy()],
  [
    'in the body',
    (request, response) => void response.writeHead(200).write('part', () => request.socket.destroy()),
  ],
])(
  'an error in the handling of a failure %s cuts the connection, and is logged once',
  async (_when, agent) => {
    rig = await startRig(agent);
    breakRecording('failed');
    await expect(ask(rig.port)).rejects.toThrow();
    expect(rig.log).toEqual([
      [
        'error',
        'failed to process upstream response',
        expect.objectContaining({ kind: 'broken', error: expect.stringContaining('thrown') }),
      ],
    ]);
    expect(await completedEntry(rig)).toMatchObject({ aborted: true });
  },
);

test('an error in the handling of a failure does not affect the previous response of the connection', async () => {
  let respondToFirst: (() => void) | undefined;
  rig = await startRig((request, response) => {
    if (request.url === '/fail') request.socket.destroy();
    else respondToFirst = () => void response.end('first');
  });
  const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  breakRecording('failed');
  const received = askRaw(rig.port, request('/first') + request('/fail'));
  await until(() => rig.log.length > 0, 'the error');
  await until(() => respondToFirst !== undefined, 'the first request');
  respondToFirst?.();
  expect(await received).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*first/);
});
