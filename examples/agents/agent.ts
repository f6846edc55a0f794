import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { resolve } from 'node:path';
import type { HealthReport } from '../../core/shapes/health.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { createReporter, type Reporter } from '../../reporter/index.ts';
import { listen, type Listener } from '../../runtime/http-listener.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import { createBuiltInModel } from './built-in-model.ts';
import type { Fault } from './faults.ts';
import { readJson, sendError, sendJson } from './json-http.ts';
import type { ChatModel } from './model.ts';
import {
  completionBody,
  identityOf,
  parseCompletionRequest,
  parsePlainRequest,
  usageBody,
  writeCompletionStream,
  type ParsedChatRequest,
} from './openai-wire.ts';
import { createRemoteModel } from './remote-model.ts';
import { createTools, type AgentTool } from './tools.ts';
import { takeTurn, type Turn } from './turn.ts';

export interface AgentOptions {
  manifest: Manifest;
  /** Directory of agent.yaml, for `$file:` references. */
  manifestFolder: string;
  faults: ReadonlySet<Fault>;
  host: string;
  /** 0: a free port. */
  port: number;
  /** null: use the built-in model. */
  modelBaseUrl: URL | null;
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
}

export interface RunningAgent {
  port: number;
  reporter: Reporter;
  close(): Promise<void>;
}

/** Starts one example agent: an OpenAI-compatible HTTP server with guardrails, tools and the reporter mounted. */
export async function startAgent(options: AgentOptions): Promise<RunningAgent> {
  const tools = createTools();
  const { manifest, logger } = options;
  let server: AgentServer | null = null;
  const listener = await listen({
    host: options.host,
    port: options.port,
    handler: (request, response) => void server?.respond(request, response),
  });
  const reporter = createReporter({
    manifest,
    tools: tools.map(({ name }) => name),
    env: reporterEnvironment(options, listener),
    manifestFolder: options.manifestFolder,
    logger,
  });
  server = new AgentServer({ ...options, tools, reporter, model: modelOf(options) });
  reporter.start();
  logger.info('listening', { agent: manifest.metadata.name, port: listener.port });
  return {
    port: listener.port,
    reporter,
    close: async () => {
      await Promise.all([reporter.stop(), listener.close()]);
    },
  };
}

/** Model used with the fault `other-model`. */
const OTHER_MODEL = 'gpt-4o-mini';

function modelOf({ manifest, modelBaseUrl, env, faults }: AgentOptions): ChatModel {
  const id = faults.has('other-model') ? OTHER_MODEL : manifest.spec.model.id;
  return modelBaseUrl === null
    ? createBuiltInModel(id)
    : createRemoteModel({ id, baseUrl: modelBaseUrl, apiKey: env['OPENAI_API_KEY'] ?? '' });
}

/** The built-in model is served by this process (`GET /v1/models`), so its check uses this address. */
function reporterEnvironment(options: AgentOptions, listener: Listener): AgentOptions['env'] {
  if (options.modelBaseUrl !== null) return options.env;
  return { ...options.env, OPENAI_BASE_URL: `http://127.0.0.1:${listener.port}/v1` };
}

interface ServerContext extends AgentOptions {
  tools: readonly AgentTool[];
  reporter: Reporter;
  model: ChatModel;
}

class AgentServer {
  readonly #context: ServerContext;
  readonly #systemPrompt: string | null;

  constructor(context: ServerContext) {
    this.#context = context;
    this.#systemPrompt = systemPromptOf(context);
  }

  async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { faults, reporter, logger } = this.#context;
    try {
      const path = (request.url ?? '').split('?', 1)[0] ?? '';
      if (faults.has('claims-checks') && path === '/platform/health') {
        sendJson(response, 200, allPassed(await reporter.getReport()));
        return;
      }
      if (!faults.has('no-reporter') && reporter.handle(request, response)) return;
      const route = ROUTES[`${request.method === 'HEAD' ? 'GET' : (request.method ?? '')} ${path}`];
      if (route === undefined) sendError(response, 404, `no route ${path}`);
      else await this[route](request, response);
    } catch (error) {
      logger.error('request failed', { error: describeError(error) });
      if (response.headersSent) response.destroy();
      else sendError(response, 502, 'the model request failed');
    }
  }

  health(_request: IncomingMessage, response: ServerResponse): void {
    if (this.#context.faults.has('health-fails'))
      sendError(response, 503, 'failing on purpose (fault health-fails)');
    else sendJson(response, 200, { status: 'ok' });
  }

  capabilities(_request: IncomingMessage, response: ServerResponse): void {
    const { faults, manifest, tools } = this.#context;
    if (faults.has('no-capabilities')) {
      sendError(response, 404, 'no route /capabilities');
      return;
    }
    const listed = faults.has('claims-tools') ? (manifest.spec.tools ?? []) : tools;
    sendJson(response, 200, {
      name: manifest.metadata.name,
      version: manifest.metadata.version,
      tools: listed.map(({ name, description }) => ({ name, description })),
    });
  }

  models(_request: IncomingMessage, response: ServerResponse): void {
    const model = { id: this.#context.model.id, object: 'model', created: 0, owned_by: 'example' };
    sendJson(response, 200, { object: 'list', data: [model] });
  }

  async completions(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parsed = await this.#parse(request, response, parseCompletionRequest);
    if (parsed === null) return;
    const turn = await this.#take(parsed);
    const identity = identityOf(this.#context.model.id);
    if (!parsed.streamed) {
      sendJson(response, 200, completionBody(turn, identity), this.#headersOf(turn));
      return;
    }
    response.writeHead(200, {
      ...this.#headersOf(turn),
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
    });
    await writeCompletionStream(response, turn, { identity, includeUsage: parsed.includeUsage });
  }

  async chat(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parsed = await this.#parse(request, response, parsePlainRequest);
    if (parsed === null) return;
    const turn = await this.#take(parsed);
    sendJson(
      response,
      200,
      { response: turn.content, model: this.#context.model.id, usage: usageBody(turn) },
      this.#headersOf(turn),
    );
  }

  #headersOf(turn: Turn): Record<string, string> {
    return this.#context.faults.has('no-behavior') ? {} : behaviorHeaders(turn);
  }

  async #parse<T>(
    request: IncomingMessage,
    response: ServerResponse,
    parse: (body: unknown) => { ok: true; request: T } | { ok: false; message: string },
  ): Promise<T | null> {
    const body = await readJson(request);
    if (!body.ok) {
      sendError(response, body.status, body.message);
      return null;
    }
    const parsed = parse(body.value);
    if (parsed.ok) return parsed.request;
    sendError(response, 400, parsed.message);
    return null;
  }

  #take(request: Extract<ParsedChatRequest, { ok: true }>['request']): Promise<Turn> {
    const { faults, reporter, model } = this.#context;
    return takeTurn(request, {
      ...this.#context,
      systemPrompt: this.#systemPrompt,
      // Without the reporter nothing is reported, not even to the sidecar.
      onModelCall: ({ promptTokens, completionTokens }) => {
        if (!faults.has('no-reporter')) reporter.recordUsage(model.id, promptTokens, completionTokens);
      },
    });
  }
}

const ROUTES: Readonly<Record<string, 'health' | 'capabilities' | 'models' | 'completions' | 'chat'>> = {
  'GET /health': 'health',
  'GET /capabilities': 'capabilities',
  'GET /v1/models': 'models',
  'POST /v1/chat/completions': 'completions',
  'POST /v1/chat': 'chat',
};

function systemPromptOf({ manifest, manifestFolder }: AgentOptions): string | null {
  const system = manifest.spec.prompts?.system;
  if (system === undefined) return null;
  return system.startsWith('$file:')
    ? readFileSync(resolve(manifestFolder, system.slice('$file:'.length)), 'utf8').trim()
    : system;
}

/** A health report in which all checks pass, independent of their results. */
function allPassed(report: HealthReport | null): object {
  const checks = (report?.checks ?? []).map(({ id, category, severity }) => ({
    ...{ id, category, severity },
    status: 'pass',
  }));
  const summary = { passed: checks.length, failed: 0, warnings: 0, skipped: 0 };
  return { ...report, status: 'healthy', summary, checks };
}

/** Behavior headers of the agent; the sidecar reads and removes them. */
function behaviorHeaders({ behavior }: Turn): Record<string, string> {
  return {
    'x-platform-guardrails-invoked': behavior.guardrails.join(','),
    'x-platform-tools-called': behavior.tools.join(','),
    ...(behavior.confirmed ? { 'x-platform-user-confirmed': 'true' } : {}),
  };
}
