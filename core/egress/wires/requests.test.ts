import { describe, expect, test } from '@jest/globals';
import type { Json, ModelRequest, WireName } from '../model-wire.ts';
import { WIRE_OF } from './wire-of.ts';

const NOTHING: ModelRequest = {
  ...{ model: null, isStream: false, toolsOffered: [], vendorTools: [], toolResults: [] },
  ...{ maxOutputTokens: null, isStateful: false },
};
const parameters = { type: 'object', properties: {} };

const CHAT_HISTORY = [
  { role: 'user', content: 'a' },
  { role: 'assistant', tool_calls: [{ id: 'c0', function: { name: 'earlier' } }] },
  { role: 'tool', tool_call_id: 'c0', content: '1' },
  {
    role: 'assistant',
    tool_calls: [
      { id: 'c1', type: 'function', function: { name: 'search', arguments: '{}' } },
      { id: 'c2', type: 'custom', custom: { name: 'shell', input: 'ls' } },
    ],
  },
  { role: 'tool', tool_call_id: 'c1', content: '1' },
  { role: 'tool', tool_call_id: 'c2', content: '2' },
  { role: 'tool', tool_call_id: 'c9', content: '2' },
  { role: 'user', content: 'b' },
];

interface Row {
  name: string;
  wire: WireName;
  body: Json;
  route?: { model: string | null; isStream: boolean };
  expected: Partial<ModelRequest>;
}

const ROWS: readonly Row[] = [
  {
    name: 'tools of every form',
    wire: 'chat',
    body: {
      ...{ model: 'gpt-1', stream: true, max_tokens: 5, max_completion_tokens: 7 },
      tools: [
        { type: 'function', function: { name: 'search', parameters } },
        { type: 'function', function: { name: 'search', parameters } },
        { type: 'custom', custom: { name: 'shell' } },
        { type: 'browser_search' },
        { type: 'mcp', server_label: 'files', server_url: 'https://files.example' },
        5,
      ],
      functions: [{ name: 'legacy', parameters }],
      web_search_options: {},
      plugins: [{ id: 'web' }],
      data_sources: [{ type: 'azure_search' }],
      compound_custom: { tools: { enabled_tools: ['visit_website', 1] } },
    },
    expected: {
      ...{ model: 'gpt-1', isStream: true, maxOutputTokens: 7 },
      toolsOffered: ['legacy', 'search', 'shell'],
      vendorTools: ['web_search', 'web', 'azure_search', 'visit_website', 'browser_search', 'mcp:files'],
    },
  },
  {
    // More than V8 accepts as arguments of one call.
    name: 'a long list of tools of the vendor',
    wire: 'chat',
    body: { compound_custom: { tools: { enabled_tools: new Array<string>(200_000).fill('search') } } },
    expected: { vendorTools: ['search'] },
  },
  {
    name: 'the search of xAI',
    wire: 'chat',
    body: { search_parameters: {} },
    expected: { vendorTools: ['web_search'] },
  },
  {
    name: 'the search of xAI, off',
    wire: 'chat',
    body: { search_parameters: { mode: 'off' } },
    expected: {},
  },
  {
    name: 'the model of a deployment',
    wire: 'chat',
    body: {},
    route: { model: 'deployment-1', isStream: false },
    expected: { model: 'deployment-1' },
  },
  {
    name: 'the deployment, which runs whatever the model in the body is',
    wire: 'chat',
    body: { model: 'gpt-1' },
    route: { model: 'deployment-1', isStream: false },
    expected: { model: 'deployment-1' },
  },
  {
    name: 'the results after the last message of the model',
    wire: 'chat',
    body: { messages: CHAT_HISTORY },
    expected: {
      toolResults: [
        { callId: 'c1', name: 'search' },
        { callId: 'c2', name: 'shell' },
        { callId: 'c9', name: null },
      ],
    },
  },
  {
    name: 'no result of an earlier request',
    wire: 'chat',
    body: {
      messages: [...CHAT_HISTORY, { role: 'assistant', content: 'c' }, { role: 'user', content: 'd' }],
    },
    expected: { toolResults: [] },
  },
  {
    name: 'results in front of a begun response',
    wire: 'chat',
    body: { messages: [...CHAT_HISTORY.slice(0, 3), { role: 'assistant', content: '{' }] },
    expected: { toolResults: [{ callId: 'c0', name: 'earlier' }] },
  },
  {
    name: 'a result of a legacy function',
    wire: 'chat',
    body: {
      messages: [
        { role: 'assistant', function_call: {} },
        { role: 'function', name: 'legacy' },
      ],
    },
    expected: { toolResults: [{ callId: null, name: 'legacy' }] },
  },
  {
    name: 'tools of every form',
    wire: 'responses',
    body: {
      ...{ model: 'gpt-1', stream: true, max_output_tokens: 9, previous_response_id: 'resp_1' },
      tools: [
        { type: 'function', name: 'search', parameters },
        { type: 'custom', name: 'shell_text' },
        { type: 'namespace', name: 'crm', tools: [{ type: 'function', name: 'find' }] },
        ...['computer_use_preview', 'local_shell', 'apply_patch'].map((type) => ({ type })),
        ...['web_search', 'file_search', 'code_interpreter', 'image_generation'].map((type) => ({ type })),
        { type: 'mcp', server_label: 'files', server_url: 'https://files.example' },
      ],
    },
    expected: {
      ...{ model: 'gpt-1', isStream: true, maxOutputTokens: 9, isStateful: true },
      toolsOffered: ['search', 'shell_text', 'find', 'computer', 'local_shell', 'apply_patch'],
      vendorTools: ['web_search', 'file_search', 'code_interpreter', 'image_generation', 'mcp:files'],
    },
  },
  {
    name: 'a conversation',
    wire: 'responses',
    body: { conversation: { id: 'conv_1' }, previous_response_id: null },
    expected: { isStateful: true },
  },
  {
    name: 'the results after the last item of the model',
    wire: 'responses',
    body: {
      input: [
        { role: 'user', content: 'a' },
        { type: 'function_call', call_id: 'c0', name: 'earlier', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c0', output: '1' },
        { type: 'reasoning', id: 'rs_1' },
        { type: 'function_call', call_id: 'c1', name: 'search', arguments: '{}' },
        { type: 'custom_tool_call', call_id: 'c2', name: 'shell_text', input: 'ls' },
        { type: 'computer_call', call_id: 'c3', action: {} },
        { type: 'function_call_output', call_id: 'c1', output: '1' },
        { type: 'custom_tool_call_output', call_id: 'c2', output: '1' },
        { type: 'computer_call_output', call_id: 'c3', output: {} },
        { type: 'function_call_output', call_id: 'c9', output: '1' },
      ],
    },
    expected: {
      toolResults: [
        { callId: 'c1', name: 'search' },
        { callId: 'c2', name: 'shell_text' },
        { callId: 'c3', name: 'computer' },
        { callId: 'c9', name: null },
      ],
    },
  },
  { name: 'a text as input', wire: 'responses', body: { input: 'a' }, expected: {} },
  {
    name: 'tools of every form',
    wire: 'anthropic',
    body: {
      ...{ model: 'claude-1', stream: true, max_tokens: 5 },
      tools: [
        { name: 'search', input_schema: parameters },
        { type: 'custom', name: 'find', input_schema: parameters },
        { type: 'bash_20250124', name: 'bash' },
        { type: 'web_search_20250305', name: 'web_search' },
        { type: 'code_execution_20250825', name: 'code_execution' },
        { type: 'mcp_toolset', mcp_server_name: 'files' },
      ],
      mcp_servers: [{ type: 'url', name: 'files', url: 'https://files.example' }],
    },
    expected: {
      ...{ model: 'claude-1', isStream: true, maxOutputTokens: 5 },
      toolsOffered: ['search', 'find', 'bash'],
      vendorTools: ['mcp:files', 'web_search', 'code_execution'],
    },
  },
  {
    name: 'the results after the last message of the model',
    wire: 'anthropic',
    body: {
      messages: [
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't0' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'search', input: {} }] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1' },
            { type: 'tool_result', tool_use_id: 't9' },
            { type: 'text' },
          ],
        },
      ],
    },
    expected: {
      toolResults: [
        { callId: 't1', name: 'search' },
        { callId: 't9', name: null },
      ],
    },
  },
  ...(['functionDeclarations', 'function_declarations'] as const).map((member): Row => ({
    name: `tools of every form with ${member}`,
    wire: 'gemini',
    route: { model: 'gemini-1', isStream: true },
    body: {
      tools: [
        { [member]: [{ name: 'search', parameters }, { name: 'find' }] },
        member === 'functionDeclarations'
          ? { googleSearch: {}, codeExecution: {}, urlContext: null }
          : { google_search: {}, code_execution: {}, url_context: null },
        { mcpServers: [{ name: 'files' }] },
        { computerUse: { environment: 'ENVIRONMENT_BROWSER' } },
      ],
      generationConfig: { maxOutputTokens: 5 },
    },
    expected: {
      ...{ model: 'gemini-1', isStream: true, maxOutputTokens: 5 },
      toolsOffered: ['search', 'find', 'computer_use'],
      vendorTools: ['google_search', 'code_execution', 'mcp:files'],
    },
  })),
  {
    name: 'the results after the last content of the model',
    wire: 'gemini',
    body: {
      contents: [
        { role: 'user', parts: [{ functionResponse: { name: 'earlier', response: {} } }] },
        { role: 'model', parts: [{ functionCall: { name: 'search', args: {} } }] },
        {
          role: 'user',
          parts: [{ functionResponse: { id: 'f1', name: 'search', response: {} } }, { text: 'a' }],
        },
        { role: 'function', parts: [{ function_response: { name: 'find', response: {} } }] },
      ],
    },
    expected: {
      toolResults: [
        { callId: 'f1', name: 'search' },
        { callId: null, name: 'find' },
      ],
    },
  },
  {
    name: 'tools and results',
    wire: 'cohere',
    body: {
      ...{ model: 'command-1', stream: true, max_tokens: 5 },
      tools: [{ type: 'function', function: { name: 'search', parameters } }],
      messages: [
        { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'search', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'c1', content: [] },
      ],
    },
    expected: {
      ...{ model: 'command-1', isStream: true, maxOutputTokens: 5 },
      toolsOffered: ['search'],
      toolResults: [{ callId: 'c1', name: 'search' }],
    },
  },
  {
    name: 'tools and results',
    wire: 'ollama',
    body: {
      ...{ model: 'llama', options: { num_predict: 5 } },
      tools: [{ type: 'function', function: { name: 'search', parameters } }],
      messages: [
        { role: 'assistant', tool_calls: [{ function: { name: 'search', arguments: {} } }] },
        { role: 'tool', tool_name: 'search', content: '1' },
      ],
    },
    expected: {
      ...{ model: 'llama', isStream: true, maxOutputTokens: 5 },
      toolsOffered: ['search'],
      toolResults: [{ callId: null, name: 'search' }],
    },
  },
  {
    name: 'results without names',
    wire: 'ollama',
    body: {
      messages: [
        { role: 'assistant', tool_calls: [{ function: { name: 'earlier' } }] },
        { role: 'tool', content: '0' },
        { role: 'assistant', tool_calls: ['search', 'find'].map((name) => ({ function: { name } })) },
        ...['1', '2', '3'].map((content) => ({ role: 'tool', content })),
      ],
    },
    expected: {
      isStream: true,
      toolResults: ['search', 'find', null].map((name) => ({ callId: null, name })),
    },
  },
  {
    name: 'results with ids',
    wire: 'ollama',
    body: {
      messages: [
        {
          role: 'assistant',
          tool_calls: ['search', 'find'].map((name) => ({ id: `of-${name}`, function: { name } })),
        },
        ...['of-find', 'own'].map((id) => ({ role: 'tool', tool_call_id: id, content: '1' })),
      ],
    },
    expected: {
      isStream: true,
      toolResults: [
        { callId: 'of-find', name: 'find' },
        { callId: 'own', name: 'find' },
      ],
    },
  },
  {
    name: 'a result without a call',
    wire: 'ollama',
    body: { messages: [{ role: 'tool', content: '1' }] },
    expected: { isStream: true, toolResults: [{ callId: null, name: null }] },
  },
  { name: 'no stream', wire: 'ollama', body: { stream: false }, expected: { isStream: false } },
  {
    name: 'a model',
    wire: 'embeddings',
    body: { model: 'embed-1' },
    expected: { model: 'embed-1', maxOutputTokens: 0 },
  },
];

describe('a request', () => {
  test.each(ROWS)(
    'of $wire has $name',
    ({ wire, body, route = { model: null, isStream: false }, expected }) => {
      const isStream = wire === 'ollama' ? { isStream: true } : {};
      expect(WIRE_OF[wire].readRequest(body, route)).toEqual({ ...NOTHING, ...isStream, ...expected });
    },
  );

  test.each(Object.keys(WIRE_OF) as WireName[])('of %s that is malformed has no facts', (wire) => {
    const wrong = [1, 'a', {}, [1, null, [], {}, { type: 1, name: {}, function: 1, parts: 1, content: 1 }]];
    const members = [
      'tools',
      'functions',
      'messages',
      'input',
      'contents',
      'options',
      'mcp_servers',
      'model',
    ];
    for (const value of wrong)
      for (const member of members) {
        const read = WIRE_OF[wire].readRequest({ [member]: value }, { model: 'm', isStream: true });
        expect(read).toMatchObject({ toolsOffered: [], toolResults: [] });
      }
  });
});

describe('the usage of a stream', () => {
  test.each<[string, Json, unknown]>([
    [
      'is requested',
      { stream: true, model: 'a' },
      { stream: true, model: 'a', stream_options: { include_usage: true } },
    ],
    [
      'is requested with other options',
      { stream: true, stream_options: { include_usage: false, include_obfuscation: true } },
      { stream: true, stream_options: { include_usage: true, include_obfuscation: true } },
    ],
    ['was requested by the client', { stream: true, stream_options: { include_usage: true } }, null],
    ['is not requested for a whole response', { stream: false }, null],
    ['is not requested with invalid options', { stream: true, stream_options: 1 }, null],
  ])('%s', (_name, body, expected) => {
    expect(WIRE_OF.chat.prepare?.(body)).toEqual(expected);
  });

  test('is only requested in chat completions', () => {
    for (const wire of Object.values(WIRE_OF).filter(({ name }) => name !== 'chat'))
      expect(wire.prepare).toBeUndefined();
  });
});

describe('an error', () => {
  const openai = {
    error: { message: 'M', type: 'policy_violation', param: null, code: 'tool_not_declared' },
  };
  const anthropic = {
    type: 'error',
    error: { type: 'permission_error', message: 'M' },
    request_id: 'req_policy',
  };
  const gemini = {
    error: {
      ...{ code: 403, message: 'M', status: 'PERMISSION_DENIED' },
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          ...{ reason: 'tool_not_declared', domain: 'platform.io' },
        },
      ],
    },
  };
  const other = { code: 'tool_not_declared' };
  const sse = (data: Json): string => `data: ${JSON.stringify(data)}\n\n`;
  test.each<[WireName, Json, string]>([
    ['chat', openai, sse(openai)],
    ['embeddings', openai, sse(openai)],
    ['responses', openai, `event: error\n${sse(openai)}`],
    ['anthropic', anthropic, `event: error\n${sse(anthropic)}`],
    ['gemini', gemini, sse(gemini)],
    [
      'cohere',
      { message: 'M', ...other },
      `event: message-end\n${sse({ type: 'message-end', delta: { finish_reason: 'ERROR', error: 'M', ...other } })}`,
    ],
    ['ollama', { error: 'M', ...other }, `${JSON.stringify({ error: 'M', ...other })}\n`],
  ])('of %s has the form of the vendor', (wire, body, event) => {
    expect(WIRE_OF[wire].denialBody('tool_not_declared', 'M')).toEqual(body);
    expect(WIRE_OF[wire].streamError('tool_not_declared', 'M')).toBe(event);
  });
});
