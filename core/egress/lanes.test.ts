import { describe, expect, test } from '@jest/globals';
import { VENDOR_LANES } from './lane-variables.ts';
import { parseLanes, type Lane } from './lanes.ts';
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

/** Lane, upstream (`vendor`: the vendor's own), target of the client, target at the upstream, wire. */
type Row = [lane: string, upstream: string, target: string, path: string, wire: string | null];

const ROWS: Row[] = [
  ['openai', 'vendor/v1', '/openai/v1/chat/completions', '/v1/chat/completions', 'chat'],
  ['openai', 'vendor', '/openai/v1/responses', '/v1/responses', 'responses'],
  ['openai', 'vendor', '/openai/embeddings', '/v1/embeddings', 'embeddings'],
  ['openai', 'https://gw/llm', '/openai/chat/completions', '/llm/chat/completions', 'chat'],
  ['openai', 'https://gw/llm/', '/openai/v1/chat/completions', '/llm/v1/chat/completions', 'chat'],
  ['openai', 'https://gw/llm/v1', '/openai/chat/completions', '/llm/v1/chat/completions', 'chat'],
  ['openai', 'vendor/v1', '/openai/v1/models?limit=2', '/v1/models?limit=2', null],
  ['openai', 'vendor/v1', '/openai/v1/chat/completions?x=1', '/v1/chat/completions?x=1', 'chat'],
  ['openai', 'vendor/v1', '/openai/v1/files', '/v1/files', null],
  ['openai', 'vendor', '/openai', '/', null],
  ['openai', 'vendor/v1', '/openai/v1/x/../chat//completions', '/v1/x/../chat//completions', 'chat'],
  ['openai', 'vendor/v1', '/openai/v1/c%68at/completions/', '/v1/c%68at/completions/', 'chat'],
  ['anthropic', 'vendor', '/anthropic/v1/messages', '/v1/messages', 'anthropic'],
  ['anthropic', 'vendor', '/anthropic/messages', '/v1/messages', 'anthropic'],
  ['anthropic', 'https://gw/claude', '/anthropic/messages', '/claude/messages', 'anthropic'],
  ['anthropic', 'https://gw/claude', '/anthropic/v1/messages', '/claude/v1/messages', 'anthropic'],
  ['groq', 'https://gw', '/groq/chat/completions', '/chat/completions', 'chat'],
  ['anthropic', 'vendor/v1', '/anthropic/v1/messages', '/v1/messages', 'anthropic'],
  ['anthropic', 'vendor', '/anthropic/v1/messages/count_tokens', '/v1/messages/count_tokens', null],
  ['anthropic', 'vendor', '/anthropic/v1/messages/batches', '/v1/messages/batches', null],
  [
    'gemini',
    'vendor',
    '/gemini/v1beta/models/g:generateContent',
    '/v1beta/models/g:generateContent',
    'gemini',
  ],
  ['gemini', 'vendor', '/gemini/models/g:generateContent', '/v1beta/models/g:generateContent', 'gemini'],
  [
    'gemini',
    'vendor',
    '/gemini/v1alpha/models/g%3AgenerateContent',
    '/v1alpha/models/g%3AgenerateContent',
    'gemini',
  ],
  ['gemini', 'vendor', '/gemini/v1beta/models/g:countTokens', '/v1beta/models/g:countTokens', null],
  ['gemini', 'vendor', '/gemini/upload/v1beta/files', '/upload/v1beta/files', null],
  ['gemini', 'vendor', '/gemini/v1beta/openai/chat/completions', '/v1beta/openai/chat/completions', 'chat'],
  [
    'vertex',
    'https://a',
    '/vertex/v1beta1/projects/p/locations/l/publishers/google/models/g:generateContent',
    '/v1beta1/projects/p/locations/l/publishers/google/models/g:generateContent',
    'gemini',
  ],
  [
    'vertex',
    'https://a',
    '/vertex/v1/projects/p/locations/l/publishers/anthropic/models/c:rawPredict',
    '/v1/projects/p/locations/l/publishers/anthropic/models/c:rawPredict',
    'anthropic',
  ],
  [
    'azure',
    'https://a/',
    '/azure/openai/deployments/d/chat/completions?api-version=1',
    '/openai/deployments/d/chat/completions?api-version=1',
    'chat',
  ],
  ['azure', 'https://a', '/azure/openai/v1/responses', '/openai/v1/responses', 'responses'],
  ['groq', 'vendor', '/groq/openai/v1/chat/completions', '/openai/v1/chat/completions', 'chat'],
  ['groq', 'vendor', '/groq/v1/chat/completions', '/openai/v1/chat/completions', 'chat'],
  ['groq', 'vendor', '/groq/chat/completions', '/openai/v1/chat/completions', 'chat'],
  ['groq', 'vendor/openai/v1', '/groq/openai/v1/chat/completions', '/openai/v1/chat/completions', 'chat'],
  ['mistral', 'vendor', '/mistral/v1/chat/completions', '/v1/chat/completions', 'chat'],
  ['xai', 'vendor', '/xai/v1/chat/completions', '/v1/chat/completions', 'chat'],
  ['xai', 'vendor', '/xai/responses', '/v1/responses', 'responses'],
  ['xai', 'vendor', '/xai/v1/v1/models', '/v1/models', null],
  ['cohere', 'vendor', '/cohere/v2/chat', '/v2/chat', 'cohere'],
  ['cohere', 'vendor', '/cohere/chat', '/v2/chat', 'cohere'],
  ['cohere', 'vendor', '/cohere/v1/chat', '/v1/chat', null],
  ['ollama', 'vendor', '/ollama/api/chat', '/api/chat', 'ollama'],
  ['ollama', 'vendor', '/ollama/v1/chat/completions', '/v1/chat/completions', 'chat'],
  [
    'compatible:corp',
    'https://a/x',
    '/compatible/corp/v1/chat/completions',
    '/x/v1/chat/completions',
    'chat',
  ],
  ['compatible:corp', 'https://a/v3', '/compatible/corp/chat/completions', '/v3/chat/completions', 'chat'],
  ['mcp:files', 'https://a/mcp', '/mcp/files', '/mcp', 'mcp'],
];

const CASES = ROWS.map(([lane, upstream, target, path, wire]) => ({ lane, upstream, target, path, wire }));

test.each(CASES)('lane $lane to $upstream: $target is $path', ({ lane, upstream, target, path, wire }) => {
  const vendor = (VENDOR_LANES as Record<string, { upstream: string | null }>)[lane]?.upstream ?? '';
  expect(routeOf(lanesOf(`${lane}=${upstream.replace('vendor', vendor)}`), 'POST', target)).toMatchObject({
    upstreamPath: path,
    wire,
  });
});

test('the path has the model and whether the response is a stream', () => {
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
