import { afterEach, expect, test } from '@jest/globals';
import type { OrganisationDirective } from '../../core/shapes/directive.ts';
import { until } from '../../testing/time/until.ts';
import { post, startEgressRig, type EgressRig } from '../../testing/sidecar/egress-rig.ts';

const NOTHING: OrganisationDirective = {
  models: [],
  tools: { allowed: [], forbidden: [] },
  hosts: [],
  maxMonthlyUSD: null,
  maxTokensPerDay: null,
};

let rig: EgressRig;
afterEach(() => rig.close());

const CHAT = '/openai/v1/chat/completions';
const offer = (name: string): object => ({ type: 'function', function: { name, parameters: {} } });
const RESPONSE = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt-5' },
  usage: { prompt_tokens: 31, completion_tokens: 5, total_tokens: 36 },
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
};

/** A request that the manifest declares: model gpt-5 and tool search. */
async function ask(directive: Partial<OrganisationDirective>, mode: 'enforce' | 'track' = 'enforce') {
  rig = await startEgressRig({ directive: { ...NOTHING, ...directive }, mode });
  rig.vendor.respond = (_seen, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(RESPONSE));
  const body = {
    model: 'gpt-5',
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 50,
    tools: [offer('search')],
  };
  const response = await post(rig.port, CHAT, body);
  return { status: response.status, text: response.body, sent: rig.vendor.requests };
}

test.each([
  ['a model', { models: [['openai/gpt-4*']] }, 'model_not_allowed (model gpt-5)'],
  ['a tool', { tools: { allowed: [], forbidden: ['sea*'] } }, 'tool_not_allowed (tools search)'],
  ['a tool outside a list', { tools: { allowed: [['pay']], forbidden: [] } }, 'tool_not_allowed'],
  ['the tokens of the day', { maxTokensPerDay: 10 }, 'daily_token_limit_exceeded'],
])('denies a declared call for %s that the organisation does not allow', async (_, directive, expected) => {
  const { status, text, sent } = await ask(directive);
  expect(status).toBe(403);
  expect(text).toContain(expected);
  expect(sent).toEqual([]);
});

test.each([
  ['no rules', {}],
  [
    'an allowed model and tool',
    { models: [['openai/*'], ['*']], tools: { allowed: [['s*']], forbidden: ['x'] } },
  ],
  ['a larger budget', { maxTokensPerDay: 1_000, maxMonthlyUSD: 100 }],
])('passes a call with %s', async (_, directive) => {
  expect((await ask(directive)).status).toBe(200);
});

test('only records it in the mode track', async () => {
  const { status } = await ask({ models: [['openai/gpt-4*']] }, 'track');
  expect(status).toBe(200);
  await until(() => rig.egress.log.newest().length === 1);
  expect(rig.egress.log.newest()).toMatchObject([{ violations: ['model_not_allowed'], blocked: false }]);
});
