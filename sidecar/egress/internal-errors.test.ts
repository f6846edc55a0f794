import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { PolicyEngine } from '../../core/policy/engine.ts';
import { silentLogger, type LogFields } from '../../runtime/logger.ts';
import { post, startEgressRig, type EgressRig, type TlsVendor } from '../../testing/sidecar/egress-rig.ts';
import { until } from '../../testing/time/until.ts';
import { ModelCall } from './model-call.ts';
import { ResponseWriter } from '../proxy/response-writer.ts';

let rig: EgressRig;
let log: [level: string, message: string, fields: LogFields][];
afterEach(async () => {
  jest.restoreAllMocks();
  await rig.close();
});

/** Starts the lanes. `engine`: the policy engine; default: the builtin one. */
async function start(engine?: PolicyEngine): Promise<void> {
  log = [];
  const logger = {
    ...silentLogger,
    warn: (message: string, fields: LogFields = {}) => void log.push(['warn', message, fields]),
    error: (message: string, fields: LogFields = {}) => void log.push(['error', message, fields]),
  };
  rig = await startEgressRig({ logger, ...(engine && { engine }) });
}

const LATER: PolicyEngine = { evaluate: () => Promise.resolve({ state: 'answered', denials: [] }) };

const responses =
  (body: string, type: string): TlsVendor['respond'] =>
  (_seen, response) =>
    void response.writeHead(200, { 'content-type': type }).end(body);
const tool = { id: 'call_1', type: 'function', function: { name: 'search', arguments: '{}' } };
const message = { role: 'assistant', content: null, tool_calls: [tool] };
/** The policy judges its tool call before the body passes. */
const responsesWithTool = responses(
  JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }),
  'application/json',
);

/** Makes a call. Returns its status; null: the response was cut. */
const call = (): Promise<number | null> =>
  post(rig.port, '/openai/v1/chat/completions', { model: 'gpt-5', messages: [] }).then(
    ({ status }) => status,
    () => null,
  );

const thrown = (): never => {
  throw new Error('thrown');
};
const INTERNAL = ['error', 'failed to process upstream response'];
const OF_THE_CALL = ['warn', 'upstream request failed'];

describe('an error of the sidecar itself ends only its call, and is logged once', () => {
  const breakStep = (): unknown => jest.spyOn(rig.egress.policy, 'evaluate').mockImplementation(thrown);
  const breakLater = (): unknown =>
    jest.spyOn(rig.egress.policy, 'evaluate').mockRejectedValue(new Error('thrown'));
  const breakHead = (): unknown => jest.spyOn(ModelCall.prototype, 'head').mockImplementation(thrown);
  const breakBody = (): unknown => jest.spyOn(ResponseWriter.prototype, 'write').mockImplementation(thrown);

  test.each<
    [
      string,
      { engine?: PolicyEngine; breaks: () => unknown; response?: TlsVendor['respond'] },
      number | null,
      string[],
    ]
  >([
    ['in a step', { breaks: breakStep }, 502, OF_THE_CALL],
    ['in a step that ends later', { breaks: breakLater }, 502, OF_THE_CALL],
    ['at the head', { breaks: breakHead, response: responses('', 'text/event-stream') }, 502, INTERNAL],
    ['in the body', { breaks: breakBody }, null, INTERNAL],
    ['in a body that waited for the decision', { engine: LATER, breaks: breakBody }, null, INTERNAL],
  ])('%s', async (_when, { engine, breaks, response = responsesWithTool }, status, logged) => {
    await start(engine);
    rig.vendor.respond = response;
    breaks();
    expect(await call()).toBe(status);
    const fields = { lane: 'openai', kind: 'broken', error: expect.stringContaining('thrown') };
    expect(log).toEqual([[...logged, fields]]);
    await until(() => rig.egress.log.newest().length === 1, 'the end of the call');
    expect(rig.egress.log.counts.get('openai')?.failed).toBe(1);
    jest.restoreAllMocks();
    expect(await call()).toBe(200);
  });
});

test.each<[string, TlsVendor['respond']]>([
  ['before the head', (_seen, response) => void response.destroy()],
  ['in the body', (_seen, response) => void response.writeHead(200).write('part', () => response.destroy())],
])(
  'an error in the handling of a failure %s cuts the connection, and is logged once',
  async (_when, response) => {
    await start();
    rig.vendor.respond = response;
    jest.spyOn(rig.egress.log, 'failed').mockImplementation(thrown);
    expect(await call()).toBeNull();
    const fields = { lane: 'openai', kind: 'broken', error: expect.stringContaining('thrown') };
    expect(log).toEqual([[...INTERNAL, fields]]);
    await until(() => rig.egress.log.newest().length === 1, 'the end of the call');
  },
);

test('an error in the handling of a failure loses no earlier response of the connection', async () => {
  await start();
  const held: ServerResponse[] = [];
  rig.vendor.respond = (seen, response) => {
    if (seen.body.includes('first')) held.push(response);
    else response.destroy();
  };
  jest.spyOn(rig.egress.log, 'failed').mockImplementation(thrown);
  const socket = connect(rig.port, '127.0.0.1');
  const head = `POST /openai/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  const requests = ['first', 'second'].map((content) => {
    const body = JSON.stringify({ model: 'gpt-5', messages: [{ role: 'user', content }] });
    return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  });
  socket.write(requests.join(''));
  await until(() => log.length === 1 && held.length === 1, 'the failure of the second call');
  held[0]?.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"first"}');
  const received = await text(socket);
  expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\{"id":"first"\}/);
  expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
});
