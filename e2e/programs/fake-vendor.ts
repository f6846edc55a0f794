// A model vendor with OpenAI's chat completions, and the shop in which the tools of langgraph-agent.py work. The model calls `search`
// and `delete_all_orders`, offered or not, and returns a text once it has the result of a tool.
//   GET  /state              {calls, tokens, work: {"AGENT/TOOL": count}}; calls and tokens of the agent whose API key is ?agent=
//   GET  /work/AGENT/TOOL    the side effect of a tool
//   GET  /streams            {started, lastStartMs, open}: streaming calls of all vendors; lastStartMs: Unix time in milliseconds
// A streaming call of the model `short` ends after a second, one of another model when its client ends it. The wires are those of
// OpenAI (/v1/chat/completions), Anthropic (/v1/messages) and Gemini (…:streamGenerateContent).
// Also listens on ports 8001 to 8003, for connections of the census tests, and with TLS on 8443.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';

const TOOLS = ['search', 'delete_all_orders'];
const USAGE = { prompt_tokens: 31, completion_tokens: 11, total_tokens: 42 };

const work: Record<string, number> = {};
const calls: Record<string, number> = {};

interface ChatRequest {
  model: string;
  messages: { role: string }[];
}

const streams = { started: 0, lastStartMs: 0, open: 0 };
const SHORT_EVENTS = 5;
const EVENT_MS = 200;

/** The first events of a stream, and one that repeats. */
function eventsOf(path: string): { first: string[]; next: string } | null {
  const event = (data: { type?: string }): string =>
    `${data.type === undefined ? '' : `event: ${data.type}\n`}data: ${JSON.stringify(data)}\n\n`;
  const usage = { input_tokens: 1, output_tokens: 1 };
  if (path.endsWith('/messages')) {
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage };
    const block = { type: 'text', text: '' };
    const started = [
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: block },
    ];
    const delta = { type: 'text_delta', text: 'word ' };
    return {
      first: started.map(event),
      next: event({ type: 'content_block_delta', index: 0, delta } as object),
    };
  }
  if (path.includes(':streamGenerateContent')) {
    const content = { role: 'model', parts: [{ text: 'word ' }] };
    return { first: [], next: event({ candidates: [{ content, index: 0 }] } as object) };
  }
  if (!path.endsWith('/chat/completions')) return null;
  const choices = [{ index: 0, delta: { content: 'word ' }, finish_reason: null }];
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices };
  return { first: [], next: event(chunk as object) };
}

/** @returns whether the request was a streaming call */
function stream({ pathname }: URL, body: string, response: ServerResponse): boolean {
  const events = eventsOf(pathname);
  if (events === null || !(pathname.includes(':stream') || /"stream": ?true/.test(body))) return false;
  Object.assign(streams, { started: streams.started + 1, lastStartMs: Date.now(), open: streams.open + 1 });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(events.first.join(''));
  const isShort = /"model": ?"short"/.test(body) || pathname.includes('/short:');
  let sent = 0;
  const timer = setInterval(() => {
    response.write(events.next);
    sent += 1;
    if (isShort && sent === SHORT_EVENTS) response.end();
  }, EVENT_MS);
  response.on('close', () => {
    clearInterval(timer);
    streams.open -= 1;
  });
  return true;
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const send = (body: unknown): void => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const url = new URL(request.url ?? '/', 'http://vendor');
  if (url.pathname === '/state') {
    const count = calls[url.searchParams.get('agent') ?? ''] ?? 0;
    send({ calls: count, tokens: count * USAGE.total_tokens, work });
    return;
  }
  if (url.pathname === '/streams') {
    send(streams);
    return;
  }
  if (url.pathname.startsWith('/work/')) {
    const key = url.pathname.slice('/work/'.length);
    work[key] = (work[key] ?? 0) + 1;
    send({ done: key });
    return;
  }
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  if (stream(url, text, response)) return;
  if (!url.pathname.endsWith('/chat/completions')) {
    send({ data: [] });
    return;
  }
  const agent = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  calls[agent] = (calls[agent] ?? 0) + 1;
  const { model, messages } = JSON.parse(text) as ChatRequest;
  const isDone = messages.some(({ role }) => role === 'tool');
  const toolCalls = TOOLS.map((name) => ({
    id: `call_${name}`,
    type: 'function',
    function: { name, arguments: '{"query":"orders"}' },
  }));
  const message = isDone
    ? { role: 'assistant', content: 'There is one order.' }
    : { role: 'assistant', content: null, tool_calls: toolCalls };
  send({
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1_700_000_000, model, usage: USAGE },
    choices: [{ index: 0, message, finish_reason: isDone ? 'stop' : 'tool_calls' }],
  });
}

const listener = (request: IncomingMessage, response: ServerResponse): void => {
  respond(request, response).catch((error: unknown) => {
    response.writeHead(500).end(String(error));
  });
};
const pem = (name: string): string => readFileSync(`/tls/${name}`, 'utf8');

for (const port of [8000, 8001, 8002, 8003]) createServer(listener).listen(port);
createTlsServer({ cert: pem('tls.crt'), key: pem('tls.key') }, listener).listen(8443);
