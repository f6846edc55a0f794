import { describe, expect, test } from '@jest/globals';
import { LANE_KINDS, LANES, lanePathOf, parseLanes, parseRequestedLanes, type Lane } from './lanes.ts';
import { routeOf } from './lane-routes.ts';

function lanesOf(text: string): Lane[] {
  const parsed = parseLanes(text);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.lanes;
}

describe('EGRESS_LANES', () => {
  test('has lanes with their upstreams', () => {
    expect(lanesOf('openai=https://api.openai.com/v1, mcp:files=http://files:8080/mcp?key=1')).toEqual([
      { id: 'openai', kind: 'openai', name: null, upstream: new URL('https://api.openai.com/v1') },
      { id: 'mcp:files', kind: 'mcp', name: 'files', upstream: new URL('http://files:8080/mcp?key=1') },
    ]);
  });

  test.each([
    ['', 'a lane must be one of openai, '],
    ['openai', 'openai has no upstream'],
    ['openai=', 'openai: the upstream must be a URL'],
    ['openai=api.openai.com', 'openai: the upstream must be a URL'],
    ['openai=ftp://a', 'openai: the upstream must be a URL'],
    ['openai=https://u:p@a', 'openai: the upstream must not have credentials or a fragment'],
    ['openai=https://a/#b', 'openai: the upstream must not have credentials or a fragment'],
    ['openai=https://a/?key=1', 'openai: the upstream must not have a query'],
    ['other=https://a', 'a lane must be one of '],
    ['openai:x=https://a', 'openai must not have a name'],
    ['mcp=https://a', 'mcp requires a name'],
    ['mcp:a/b=https://a', 'mcp requires a name'],
    ['compatible:..=https://a', 'compatible requires a name'],
    ['openai=https://a,openai=https://b', 'openai is set twice'],
    [Array.from({ length: 33 }, (_, i) => `mcp:m${i}=https://a`).join(','), 'there are more than 32 lanes'],
  ])('%s is not valid', (text, problem) => {
    expect(parseLanes(text)).toEqual({ problem: expect.stringContaining(problem) });
  });

  test('a problem does not contain the URL, which may have a key', () => {
    expect(JSON.stringify(parseLanes('https://key@a=1'))).not.toContain('key@');
  });
});

describe('the annotation', () => {
  test('has names, and a variable for named lanes', () => {
    expect(parseRequestedLanes('openai, mcp:files=FILES_MCP_URL,compatible:corp=CORP_URL')).toEqual({
      lanes: [
        { id: 'openai', kind: 'openai', name: null, variable: null },
        { id: 'mcp:files', kind: 'mcp', name: 'files', variable: 'FILES_MCP_URL' },
        { id: 'compatible:corp', kind: 'compatible', name: 'corp', variable: 'CORP_URL' },
      ],
    });
  });

  test.each([
    ['', 'a lane must be one of '],
    ['mcp:files', 'mcp:files has no variable'],
    ['openai=OPENAI_BASE_URL', 'openai must not have a variable'],
    ['mcp:files=1X', 'mcp:files: the name of the variable is not valid'],
    ['openai,openai', 'openai is set twice'],
  ])('%s is not valid', (text, problem) => {
    expect(parseRequestedLanes(text)).toEqual({ problem: expect.stringContaining(problem) });
  });
});

test.each(LANE_KINDS)('the variables of %s are below the path of its lane', (kind) => {
  const path = lanePathOf({ kind, name: null });
  for (const variable of LANES[kind].variables)
    expect(`${variable.path}/`.startsWith(`${path}/`)).toBe(true);
});

/** Lane, upstream, target of the client, target at the upstream, wire. */
type Row = [lane: string, upstream: string, target: string, path: string, wire: string | null];

const ROWS: Row[] = [
  ['openai', 'https://a/v1', '/openai/v1/chat/completions', '/v1/chat/completions', 'chat'],
  ['openai', 'https://a', '/openai/v1/responses', '/v1/responses', 'responses'],
  ['openai', 'https://a', '/openai/embeddings', '/v1/embeddings', 'embeddings'],
  ['openai', 'https://gw/llm', '/openai/chat/completions', '/llm/chat/completions', 'chat'],
  ['openai', 'https://gw/llm/', '/openai/v1/chat/completions', '/llm/v1/chat/completions', 'chat'],
  ['openai', 'https://gw/llm/v1', '/openai/chat/completions', '/llm/v1/chat/completions', 'chat'],
  ['openai', 'https://a/v1', '/openai/v1/models?limit=2', '/v1/models?limit=2', null],
  ['openai', 'https://a/v1', '/openai/v1/chat/completions?x=1', '/v1/chat/completions?x=1', 'chat'],
  ['openai', 'https://a/v1', '/openai/v1/files', '/v1/files', null],
  ['openai', 'https://a', '/openai', '/', null],
  ['openai', 'https://a/v1', '/openai/v1/x/../chat//completions', '/v1/x/../chat//completions', 'chat'],
  ['openai', 'https://a/v1', '/openai/v1/c%68at/completions/', '/v1/c%68at/completions/', 'chat'],
  ['anthropic', 'https://a', '/anthropic/v1/messages', '/v1/messages', 'anthropic'],
  ['anthropic', 'https://a', '/anthropic/messages', '/v1/messages', 'anthropic'],
  ['anthropic', 'https://gw/claude', '/anthropic/messages', '/claude/v1/messages', 'anthropic'],
  ['anthropic', 'https://a/v1', '/anthropic/v1/messages', '/v1/messages', 'anthropic'],
  ['anthropic', 'https://a', '/anthropic/v1/messages/count_tokens', '/v1/messages/count_tokens', null],
  ['anthropic', 'https://a', '/anthropic/v1/messages/batches', '/v1/messages/batches', null],
  ['gemini', 'https://a', '/gemini/v1beta/models/g:generateContent', '/v1beta/models/g:generateContent', 'gemini'],
  ['gemini', 'https://a', '/gemini/models/g:generateContent', '/v1beta/models/g:generateContent', 'gemini'],
  ['gemini', 'https://a', '/gemini/v1alpha/models/g%3AgenerateContent', '/v1alpha/models/g%3AgenerateContent', 'gemini'],
  ['gemini', 'https://a', '/gemini/v1beta/models/g:countTokens', '/v1beta/models/g:countTokens', null],
  ['gemini', 'https://a', '/gemini/upload/v1beta/files', '/upload/v1beta/files', null],
  ['gemini', 'https://a', '/gemini/v1beta/openai/chat/completions', '/v1beta/openai/chat/completions', 'chat'],
  ['vertex', 'https://a', '/vertex/v1beta1/projects/p/locations/l/publishers/google/models/g:generateContent', '/v1beta1/projects/p/locations/l/publishers/google/models/g:generateContent', 'gemini'],
  ['vertex', 'https://a', '/vertex/v1/projects/p/locations/l/publishers/anthropic/models/c:rawPredict', '/v1/projects/p/locations/l/publishers/anthropic/models/c:rawPredict', 'anthropic'],
  ['vertex', 'https://a', '/vertex/projects/p/locations/l/publishers/google/models/g:generateContent', '/v1/projects/p/locations/l/publishers/google/models/g:generateContent', 'gemini'],
  ['azure', 'https://a/', '/azure/openai/deployments/d/chat/completions?api-version=1', '/openai/deployments/d/chat/completions?api-version=1', 'chat'],
  ['azure', 'https://a', '/azure/deployments/d/chat/completions', '/openai/deployments/d/chat/completions', 'chat'],
  ['azure', 'https://a', '/azure/openai/v1/responses', '/openai/v1/responses', 'responses'],
  ['groq', 'https://a', '/groq/openai/v1/chat/completions', '/openai/v1/chat/completions', 'chat'],
  ['groq', 'https://a', '/groq/v1/chat/completions', '/openai/v1/chat/completions', 'chat'],
  ['groq', 'https://a', '/groq/chat/completions', '/openai/v1/chat/completions', 'chat'],
  ['groq', 'https://a/openai/v1', '/groq/openai/v1/chat/completions', '/openai/v1/chat/completions', 'chat'],
  ['mistral', 'https://a', '/mistral/v1/chat/completions', '/v1/chat/completions', 'chat'],
  ['cohere', 'https://a', '/cohere/v2/chat', '/v2/chat', 'cohere'],
  ['cohere', 'https://a', '/cohere/chat', '/v2/chat', 'cohere'],
  ['cohere', 'https://a', '/cohere/v1/chat', '/v1/chat', null],
  ['ollama', 'http://a', '/ollama/api/chat', '/api/chat', 'ollama'],
  ['ollama', 'http://a', '/ollama/v1/chat/completions', '/v1/chat/completions', 'chat'],
  ['compatible:corp', 'https://a/x', '/compatible/corp/v1/chat/completions', '/x/v1/chat/completions', 'chat'],
  ['compatible:corp', 'https://a/v3', '/compatible/corp/chat/completions', '/v3/chat/completions', 'chat'],
  ['mcp:files', 'https://a/mcp', '/mcp/files', '/mcp', 'mcp'],
];

test.each(ROWS)('lane %s to %s: %s is %s', (lane, upstream, target, path, wire) => {
  expect(routeOf(lanesOf(`${lane}=${upstream}`), 'POST', target)).toMatchObject({
    upstreamPath: path,
    wire,
  });
});

test('the path has the model and whether the answer is a stream', () => {
  const lanes = lanesOf('gemini=https://a,azure=https://a,vertex=https://a');
  const of = (target: string) => routeOf(lanes, 'POST', target);
  expect(of('/gemini/v1beta/models/g-2:streamGenerateContent?alt=sse')).toMatchObject({
    model: 'g-2',
    isStream: true,
  });
  expect(of('/gemini/v1beta/models/g-2:generateContent')).toMatchObject({ model: 'g-2', isStream: false });
  expect(of('/azure/openai/deployments/d/chat/completions')).toMatchObject({ model: 'd', isStream: false });
  expect(
    of('/vertex/v1/projects/p/locations/l/publishers/anthropic/models/c:streamRawPredict'),
  ).toMatchObject({ model: 'c', isStream: true });
});

test('a GET of a known path passes unread', () => {
  expect(routeOf(lanesOf('openai=https://a'), 'GET', '/openai/v1/responses')).toMatchObject({ wire: null });
});

test.each(['/', '/other/v1', '/openaix/v1', '/compatible/corp2/v1', '/mcp/other', 'http://x/openai/v1'])(
  '%s belongs to no lane',
  (target) => {
    const lanes = lanesOf('openai=https://a,compatible:corp=https://a,mcp:files=https://a');
    expect(routeOf(lanes, 'POST', target)).toBeNull();
  },
);
