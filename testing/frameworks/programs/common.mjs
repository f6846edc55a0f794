// Shared by all JavaScript programs: an agent's server, a client's command loop, and errors as JSON.
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';

/** Classes, codes and messages of an error and its causes, outermost first. */
export function chainOf(error) {
  const chain = [];
  for (let each = error; each instanceof Error && chain.length < 6; each = each.cause)
    chain.push({
      type: each.constructor.name === 'Error' ? each.name : each.constructor.name,
      status: [each.status, each.statusCode, each.code].find(Number.isInteger) ?? null,
      message: each.message,
      reasonAt: ['headers', 'responseHeaders'].find((name) => reasonIn(each[name])) ?? null,
    });
  return chain;
}

/** Header in which the sidecar lists the broken rules. */
function reasonIn(headers) {
  return headers instanceof Headers ? headers.get(REASON) : headers?.[REASON];
}

const REASON = 'x-platform-policy-violations';

/**
 * Serves an agent on $PORT: `POST /v1/chat?answer=<name>` calls `answers[name](modelUrl, signal)`, which returns a web
 * Response. `?answer=denied` calls the first one with a model whose calls are denied, and returns the error.
 */
export function serve(answers) {
  const server = createServer((request, response) => {
    void respond(new URL(request.url, 'http://agent'), response);
    request.resume();
  });
  async function respond({ pathname, searchParams }, response) {
    if (pathname !== '/v1/chat') return response.writeHead(404).end();
    const name = searchParams.get('answer');
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      const answer =
        name === 'denied'
          ? await denied(gone.signal)
          : await answers[name](process.env.MODEL_URL, gone.signal);
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      if (answer.body === null) response.end();
      else
        Readable.fromWeb(answer.body)
          .on('error', () => response.destroy())
          .pipe(response);
    } catch (error) {
      if (gone.signal.aborted) return;
      response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify(chainOf(error)));
    }
  }
  async function denied(signal) {
    try {
      const answer = await Object.values(answers)[0](process.env.DENYING_URL, signal);
      return json([{ type: 'no error', status: null, message: await answer.text() }]);
    } catch (error) {
      return json(chainOf(error));
    }
  }
  server.listen(Number(process.env.PORT), '127.0.0.1');
}

/** Runs calls of a client: each input line is `{name, url}`, each output line is the result or the error. */
export async function call(calls) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { name, url } = JSON.parse(line);
    let outcome;
    try {
      outcome = { result: await calls[name](url) };
    } catch (error) {
      outcome = { error: chainOf(error) };
    }
    process.stdout.write(`${JSON.stringify(outcome)}\n`);
  }
}

export const json = (value) =>
  new Response(JSON.stringify(value), { headers: { 'content-type': 'application/json' } });

/** Converts the values of an async iterable to server-sent events. */
export function sse(values, dataOf = (value) => value) {
  const encoder = new TextEncoder();
  const iterator = values[Symbol.asyncIterator]();
  const body = new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(`data: ${JSON.stringify(dataOf(value))}\n\n`));
    },
    cancel: () => iterator.return?.(),
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

export const QUESTION = 'How much is six times seven?';
export const MODEL = 'gpt-4o-mini';
