// Shared by the agents that are observed through the integrations of the reporter.
import { createServer } from 'node:http';
import { Readable } from 'node:stream';

const { createReporter, PolicyDeniedError } = await import(process.env.REPORTER_URL);

export const reporter = createReporter({
  manifest: {
    apiVersion: 'platform.io/v1',
    kind: 'PlatformAgent',
    metadata: { name: 'calculator', version: '1.0.0', description: 'Calculates' },
    spec: {
      model: { provider: 'openai', id: 'gpt-4o-mini', apiKey: '$env:OPENAI_API_KEY' },
      tools: [{ name: 'multiply' }],
      guardrails: { input: [{ type: 'pii-detector' }] },
    },
  },
  push: false,
});

/** The integration under test. */
export const integration = await import(process.env.INTEGRATION_URL);

/** What the agent really did in the request of this form. */
export const truth = { multiplied: 0 };

/** A tool of the agent: it counts its calls, and fails if `isFailing`. */
export const multiplier =
  (isFailing = false) =>
  ({ a, b }) => {
    truth.multiplied += 1;
    if (isFailing) throw new Error('cannot multiply');
    return a * b;
  };

/** The agent's own guardrail; throws if it blocks. */
export class Blocked extends Error {}

/**
 * Serves `POST /v1/chat?form=<name>`, which calls `forms[name](modelUrl, request, response)`. A form returns a web Response, or a value for a JSON response.
 * `GET /reported` waits until the sidecar has every event, and returns the truth and the reporter's counts.
 */
export function serveForms(forms) {
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://agent');
    if (url.pathname === '/reported') void reported(response);
    else void answer(url.searchParams.get('form'), request, response).finally(() => request.resume());
  });
  async function answer(form, request, response) {
    truth.multiplied = 0;
    try {
      const value = await forms[form](process.env.MODEL_URL, request, response);
      if (response.writableEnded) return;
      if (!(value instanceof Response)) return send(response, 200, { text: value });
      response.writeHead(value.status, Object.fromEntries(value.headers));
      Readable.fromWeb(value.body).pipe(response);
    } catch (error) {
      send(response, 500, {
        error: error.constructor.name,
        message: error.message,
        stack: error.stack?.split('\n').slice(1, 6) ?? [],
        isDenied: error instanceof PolicyDeniedError,
        violations: error.violations ?? null,
      });
    }
  }
  async function reported(response) {
    await reporter.events.flush(60_000);
    send(response, 200, { ...truth, counts: reporter.events.counts(), usage: reporter.getUsage() });
  }
  server.listen(Number(process.env.PORT), '127.0.0.1');
  return server;
}

const send = (response, status, value) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
