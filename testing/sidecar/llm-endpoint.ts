import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jsonOf } from '../../core/untrusted/fields.ts';
import type { Json } from '../frameworks/model-response.ts';
import { CHAT } from '../frameworks/wire-chat.ts';

/** An LLM vendor with OpenAI's chat completions that gives one fixed response. */
export interface LlmEndpoint {
  /** The variables that select it as provider. */
  env: Record<string, string>;
  /** Bodies of the requests so far. */
  requests: Json[];
  close(): Promise<void>;
}

/** @param content the text, or a status of an error response */
export async function startLlmEndpoint(content: string | number): Promise<LlmEndpoint> {
  const requests: Json[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      requests.push(body);
      if (typeof content === 'number') {
        const error = { message: 'refused', type: 'invalid_request_error', param: null, code: null };
        response.writeHead(content, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
        return;
      }
      const isStream = body['stream'] === true;
      const given = {
        ...{ id: 'a'.repeat(64), model: String(body['model']), tools: [], text: content },
        ...{
          promptTokens: 100,
          completionTokens: 50,
          statesUsage: !isStream || CHAT.statesUsageInStream(body),
        },
      };
      if (!isStream) {
        const whole = JSON.stringify(CHAT.whole(given));
        response.writeHead(200, { 'content-type': 'application/json' }).end(whole);
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of CHAT.stream(given)) response.write(event);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    env: {
      PLATFORM_LLM_API_KEY: 'key',
      PLATFORM_LLM_MODEL: 'writer',
      PLATFORM_LLM_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    },
    requests,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  let text = '';
  for await (const piece of request.setEncoding('utf8') as AsyncIterable<string>) text += piece;
  return jsonOf(text) as Json;
}
