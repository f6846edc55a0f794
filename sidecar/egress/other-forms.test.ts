import { afterEach, expect, test } from '@jest/globals';
import { post, startEgressRig, type EgressRig, type TlsVendor } from '../../testing/sidecar/egress-rig.ts';
import { until } from '../../testing/time/until.ts';

let rig: EgressRig;
afterEach(() => rig.close());

const respond =
  (contentType: string, body: string): TlsVendor['respond'] =>
  (_seen, response) =>
    void response.writeHead(200, { 'content-type': contentType }).end(body);

const part = (name: string): object => ({ functionCall: { name, args: {} } });
const event = (...parts: object[]): object => ({
  candidates: [{ content: { role: 'model', parts }, index: 0 }],
});

test('a forbidden call is removed from a stream of Gemini that is a JSON list', async () => {
  rig = await startEgressRig({ lanes: 'gemini=vendor' });
  const list = [event(part('delete_all')), event(part('search'))];
  rig.vendor.respond = respond('application/json', JSON.stringify(list));
  const path = '/gemini/v1beta/models/gpt-5:streamGenerateContent';
  const response = await post(rig.port, path, { contents: [] });
  expect(response.body).not.toContain('delete_all');
  expect(response.body).toContain('search');
  await until(() => rig.egress.log.newest().length === 1, 'the call in the log');
  expect(rig.egress.log.newest()[0]).toMatchObject({
    ...{ model: 'gpt-5', stream: true, toolsCalled: ['delete_all', 'search'] },
    ...{ violations: ['tool_not_declared'], blocked: true },
  });
});

test.each([
  ['mistral', '/mistral/v1/chat/completions', false],
  ['azure', '/azure/openai/deployments/gpt-5/chat/completions?api-version=2024-02-01', false],
  ['azure', '/azure/openai/deployments/gpt-5/chat/completions?api-version=2024-10-21', true],
])('the option for usage is added for %s at %s: %s', async (lane, path, isAdded) => {
  rig = await startEgressRig({ lanes: `${lane}=vendor` });
  rig.vendor.respond = respond('text/event-stream', 'data: [DONE]\n\n');
  await post(rig.port, path, { model: 'gpt-5', messages: [], stream: true });
  expect(rig.vendor.requests[0]?.body.includes('include_usage')).toBe(isAdded);
});

test('a body that is nested too deeply to be written passes as it is', async () => {
  rig = await startEgressRig();
  rig.vendor.respond = respond('text/event-stream', 'data: [DONE]\n\n');
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  const body = `{"model":"gpt-5","stream":true,"stream_options":{"x":${deep}}}`;
  expect((await post(rig.port, '/openai/v1/chat/completions', body)).status).toBe(200);
  expect(rig.vendor.requests[0]?.body).toBe(body);
});
