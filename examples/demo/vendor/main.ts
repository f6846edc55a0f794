// The vendor of the model for the agents of the demo that have an egress lane: OpenAI's chat completions on PORT of loopback, with the
// built-in model of the example agents. A request to delete the orders gets the call of a tool that no agent declares.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { createBuiltInModel } from '../../agents/built-in-model.ts';
import { sendError, sendJson } from '../../agents/json-http.ts';
import type { Completion } from '../../agents/model.ts';
import {
  completionBody,
  identityOf,
  parseCompletionRequest,
  writeCompletionStream,
  type ChatRequest,
} from '../../agents/openai-wire.ts';
import type { Turn } from '../../agents/turn.ts';

const ATTACK = /\bdelete\b.*\borders\b/is;
const FORBIDDEN = { id: 'call_0_delete_all_orders', name: 'delete_all_orders', arguments: '{}' };

/** Such a model exists: an instruction in its input made it call a tool that the request does not offer. */
async function completionOf(model: string, { messages, callerTools }: ChatRequest): Promise<Completion> {
  const completion = await createBuiltInModel(model).complete(messages, callerTools);
  const last = messages.at(-1);
  if (last?.role !== 'user' || !ATTACK.test(last.content)) return completion;
  return { ...completion, content: '', toolCalls: [FORBIDDEN] };
}

function turnOf({ content, toolCalls, usage }: Completion): Turn {
  const finishReason = toolCalls.length > 0 ? 'tool_calls' : 'stop';
  const behavior = { guardrails: [], tools: [], confirmed: false };
  return { content, toolCalls, finishReason, usage, behavior };
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, model] = /^\/v1\/models(?:\/(.+))?$/.exec(request.url ?? '') ?? [];
  if (request.method === 'GET' && request.url?.startsWith('/v1/models') === true) {
    const known = { id: model ?? 'gpt-4o-mini', object: 'model', created: 0, owned_by: 'demo' };
    sendJson(response, 200, model === undefined ? { object: 'list', data: [known] } : known);
    return;
  }
  if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
    sendError(response, 404, `there is no ${request.method} ${request.url}`);
    return;
  }
  if (!/^Bearer \S/.test(request.headers.authorization ?? '')) {
    sendError(response, 401, 'an API key is required');
    return;
  }
  const body = (await json(request)) as { model?: unknown };
  const parsed = parseCompletionRequest(body);
  if (!parsed.ok || typeof body.model !== 'string') {
    sendError(response, 400, parsed.ok ? 'a model is required' : parsed.message);
    return;
  }
  const turn = turnOf(await completionOf(body.model, parsed.request));
  const identity = identityOf(body.model);
  if (!parsed.request.streamed) {
    sendJson(response, 200, completionBody(turn, identity));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  await writeCompletionStream(response, turn, { identity, includeUsage: parsed.request.includeUsage });
}

createServer((request, response) => {
  serve(request, response).catch((error: unknown) => sendError(response, 400, (error as Error).message));
}).listen(Number(process.env['PORT']), '127.0.0.1');
