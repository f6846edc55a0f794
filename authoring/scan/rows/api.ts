import type { Found } from '../discovery.ts';
import { callOf, type CallRow, type DecoratorRow } from '../row.ts';

/** A web framework's route or server. Ports and paths must be literals, or defaults of variables. */
function portOf(text: string | null): Found[] {
  const port = Number(text ?? Number.NaN);
  return Number.isInteger(port) && port >= 1 && port <= 65_535 ? [{ kind: 'port', port }] : [];
}

const port = (language: CallRow['language'], name: RegExp, keys: readonly (string | number)[]): CallRow => ({
  language,
  name,
  read: (call, code) => portOf(code.textOption(call, keys)),
});

function routeOf(method: string, path: string | null): Found[] {
  // A path with parameters is not the one path of an endpoint.
  return path !== null && /^\/[^\s{}:*<>]*$/.test(path)
    ? [{ kind: 'route', method: method.toUpperCase(), path }]
    : [];
}

const METHOD = /\.(get|post|put|all|route)$/;

const PORTS: readonly CallRow[] = [
  port('python', /^uvicorn:(?:run|Config)$/, ['port']),
  port('python', /^granian:Granian$/, ['port']),
  { ...port('python', /[:.]run$/, ['port']), needs: /^(?:flask|quart|fastmcp|mcp\.server)/ },
  {
    ...port('javascript', /[:.]listen$/, ['port', 0]),
    needs: /^(?:express|fastify|koa|(?:node:)?https?)$/,
  },
  port('javascript', /^@hono\/node-server:serve$/, ['port']),
  port('javascript', /^:Bun\.serve$/, ['port']),
];

const SCRIPT_ROUTES: readonly CallRow[] = [
  {
    language: 'javascript',
    name: /^(?:express|fastify|hono|koa-router|@koa\/router|:).*[.:](?:get|post|put|all)$/,
    needs: /^(?:express|fastify|hono|koa-router|@koa\/router)$/,
    read: (call, code) => routeOf(METHOD.exec(call.name)?.[1] ?? '', code.textOption(call, [0])),
  },
];

/** An agent that is itself an MCP server over HTTP. */
const MCP_SERVERS: readonly CallRow[] = [
  {
    language: 'python',
    name: /^(?:(?:fastmcp|mcp)[\w.]*:(?:FastMCP|MCPServer)\(\)|:[\w.]+)\.(?:run|run_async|streamable_http_app|sse_app|http_app)$/,
    needs: /^(?:fastmcp|mcp\.server)/,
    read: (call, code) => {
      const isHttp =
        call.name.endsWith('app') || /http|sse/.test(code.textOption(call, ['transport', 0]) ?? '');
      return isHttp ? [{ kind: 'apiType', type: 'mcp' }] : [];
    },
  },
  {
    language: 'javascript',
    name: /^@modelcontextprotocol\/[\w./-]+:(?:\w+)?StreamableHTTPServerTransport$/,
    read: () => [{ kind: 'apiType', type: 'mcp' }],
  },
];

export const API_CALLS: readonly CallRow[] = [...PORTS, ...SCRIPT_ROUTES, ...MCP_SERVERS];

export const API_DECORATORS: readonly DecoratorRow[] = [
  {
    language: 'python',
    name: /[:.](?:get|post|put|route)$/,
    needs: /^(?:fastapi|flask|quart|starlette|litestar|sanic|robyn)\b/,
    read: ({ source, decorator, call }, code) => {
      if (call === null) return [];
      const method = METHOD.exec(`.${decorator.path}`)?.[1] ?? '';
      const router = code.assigned(source, decorator.path.split('.')[0] ?? '');
      const created = callOf(router?.value ?? null);
      const prefix =
        created === null ? null : code.textOption({ source, args: created.args }, ['prefix', 'url_prefix']);
      const path = code.textOption(call, ['path', 0]);
      return routeOf(method === 'route' ? 'all' : method, path === null ? null : (prefix ?? '') + path);
    },
  },
];
