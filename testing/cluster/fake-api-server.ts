import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ClusterAccess } from '../../kube/cluster-access.ts';

export interface FakeObject {
  metadata: { name: string; namespace?: string; resourceVersion?: string; [key: string]: unknown };
  [key: string]: unknown;
}

/** A fault for the next request that `when` matches. */
export interface Fault {
  when: (request: { method: string; url: URL }) => boolean;
  /** `hang`: never responds. `silent`: starts a response. `cut`: closes the socket. Else: this response. */
  response: 'hang' | 'silent' | 'cut' | { status: number; headers?: Record<string, string>; body?: unknown };
}

export interface FakeApiServer {
  access: ClusterAccess;
  /** Every request, oldest first. */
  requests: { method: string; url: URL; headers: IncomingMessage['headers']; body: unknown }[];
  /** Stores an object and notifies the watches. */
  put(path: string, object: FakeObject): FakeObject;
  remove(path: string, name: string): void;
  get(path: string): FakeObject | undefined;
  /** Adds a fault that applies once. */
  fail(fault: Fault): void;
  watches(): ServerResponse[];
  /** Sends a line to every watch. */
  say(event: unknown): void;
  /** While unavailable, all connections are cut. It becomes available again on the same port with the same state. */
  away(isAway: boolean): void;
  /** Requests for earlier versions return 410 from now on. */
  forget(): void;
  close(): Promise<void>;
}

/**
 * Implements the API server's protocol for any collection path, with faults that are rare in a real server: paged lists, watches,
 * optimistic locking on PUT and merge patch. Objects are stored by `<collection path>/<name>`.
 */
export async function startFakeApiServer(): Promise<FakeApiServer> {
  const objects = new Map<string, FakeObject>();
  const watches = new Map<ServerResponse, string>();
  const history: { version: number; path: string; event: unknown }[] = [];
  const faults: Fault[] = [];
  const requests: FakeApiServer['requests'] = [];
  let version = 100;
  let oldest = 0;

  function changed(type: string, key: string, object: FakeObject): FakeObject {
    version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    const path = key.slice(0, key.lastIndexOf('/'));
    const event = { type, object: stored };
    history.push({ version, path, event });
    if (type === 'DELETED') objects.delete(key);
    else objects.set(key, stored);
    for (const [watch, watched] of watches)
      if (covers(watched, path)) watch.write(JSON.stringify(event) + '\n');
    return stored;
  }

  function list(url: URL, response: ServerResponse): void {
    const name = /^metadata\.name=(.*)$/.exec(url.searchParams.get('fieldSelector') ?? '')?.[1];
    const items = [...objects]
      .filter(([key]) => covers(url.pathname, key.slice(0, key.lastIndexOf('/'))))
      .filter(([key]) => name === undefined || key.endsWith(`/${name}`))
      .map(([, object]) => object);
    const from = Number(url.searchParams.get('continue') ?? 0);
    const to = from + Number(url.searchParams.get('limit') ?? items.length);
    const more = to < items.length ? { continue: String(to) } : {};
    send(response, 200, {
      metadata: { resourceVersion: String(version), ...more },
      items: items.slice(from, to),
    });
  }

  function watch(url: URL, response: ServerResponse): void {
    const from = Number(url.searchParams.get('resourceVersion'));
    if (from < oldest) {
      sendStatus(response, 410, 'Expired', 'too old resource version');
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    watches.set(response, url.pathname);
    const seconds = Number(url.searchParams.get('timeoutSeconds') ?? 300);
    const timer = setTimeout(() => response.end(), seconds * 1_000);
    response.on('close', () => {
      watches.delete(response);
      clearTimeout(timer);
    });
    for (const past of history)
      if (past.version > from && covers(url.pathname, past.path))
        response.write(JSON.stringify(past.event) + '\n');
  }

  function write(method: string, url: URL, body: unknown, response: ServerResponse): void {
    const key = url.pathname.replace(/\/status$/, '');
    const sent = body as FakeObject;
    if (method === 'POST') {
      const target = `${key}/${sent.metadata.name}`;
      if (objects.has(target)) sendStatus(response, 409, 'AlreadyExists', 'exists');
      else send(response, 201, changed('ADDED', target, sent));
      return;
    }
    const current = objects.get(key);
    if (!current) {
      sendStatus(response, 404, 'NotFound', 'not found');
      return;
    }
    const expected = sent?.metadata?.resourceVersion;
    if (expected !== undefined && expected !== current.metadata.resourceVersion) {
      sendStatus(response, 409, 'Conflict', 'the object has been modified');
      return;
    }
    const next = method === 'PATCH' ? (mergeJson(current, sent) as FakeObject) : sent;
    send(
      response,
      200,
      changed(method === 'DELETE' ? 'DELETED' : 'MODIFIED', key, method === 'DELETE' ? current : next),
    );
  }

  const server = createServer((request, response) => {
    void (async () => {
      const url = new URL(request.url ?? '/', 'http://fake');
      const method = request.method ?? 'GET';
      const text = Buffer.concat(await request.toArray()).toString();
      const body: unknown = text === '' ? undefined : JSON.parse(text);
      requests.push({ method, url, headers: request.headers, body });
      const index = faults.findIndex((fault) => fault.when({ method, url }));
      if (index >= 0) {
        const [fault] = faults.splice(index, 1);
        respondFault(fault!.response, response);
      } else if (method !== 'GET') write(method, url, body, response);
      else if (url.searchParams.get('watch') === 'true') watch(url, response);
      else if (objects.has(url.pathname)) send(response, 200, objects.get(url.pathname));
      else if (
        [...objects.keys()].some((key) => key.startsWith(`${url.pathname}/`)) ||
        url.searchParams.has('limit')
      )
        list(url, response);
      else sendStatus(response, 404, 'NotFound', 'not found');
    })();
  });
  // Longer than any test: as with the API server, the client closes idle connections first.
  server.keepAliveTimeout = 600_000;
  let isAway = false;
  server.on('connection', (socket) => void (isAway && socket.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = (server.address() as AddressInfo).port;
  return {
    access: {
      server: `http://127.0.0.1:${bound}`,
      namespace: null,
      credentials: async () => ({ headers: { authorization: 'Bearer fake' }, tls: {} }),
    },
    requests,
    put: (path, object) => {
      const key = `${path}/${object.metadata.name}`;
      return changed(objects.has(key) ? 'MODIFIED' : 'ADDED', key, object);
    },
    remove: (path, name) => void changed('DELETED', `${path}/${name}`, objects.get(`${path}/${name}`)!),
    get: (path) => objects.get(path),
    fail: (fault) => void faults.push(fault),
    watches: () => [...watches.keys()],
    say: (event) => {
      for (const watch of watches.keys()) watch.write(JSON.stringify(event) + '\n');
    },
    away: (is) => {
      isAway = is;
      if (isAway) server.closeAllConnections();
    },
    forget: () => void ((oldest = version + 1), (version += 1)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Whether a list or watch of `requested` includes the collection; all namespaces include each namespace. */
function covers(requested: string, collection: string): boolean {
  return requested === collection || requested === collection.replace(/\/namespaces\/[^/]+(?=\/[^/]+$)/, '');
}

function respondFault(fault: Fault['response'], response: ServerResponse): void {
  if (fault === 'hang') return;
  if (fault === 'silent') {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    return;
  }
  if (fault === 'cut') {
    response.destroy();
    return;
  }
  response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers });
  response.end(JSON.stringify(fault.body ?? { kind: 'Status', message: 'as the test wants', reason: '' }));
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function sendStatus(response: ServerResponse, code: number, reason: string, message: string): void {
  send(response, code, { kind: 'Status', code, reason, message });
}

/** RFC 7386. */
export function mergeJson(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergeJson(result[key], value);
  }
  return result;
}
