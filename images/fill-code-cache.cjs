// Fills the code cache of the sidecar's image: node fill-code-cache.cjs BUNDLE DIRECTORY. Run it with the Node.js of the image, because a
// cache is valid for one version of V8 only. It has the code that ran in this process: the start of a sidecar, its first readiness probe
// and its first request. These follow each other without timers, so that V8 compiles in the same order, and creates the same bytes, each
// time, also on a busy machine.
const { subscribe } = require('node:diagnostics_channel');
const { mkdirSync, mkdtempSync, rmSync, stat, utimesSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { connect, createServer } = require('node:net');
const { tmpdir } = require('node:os');
const { join, resolve } = require('node:path');
const timers = require('node:timers');
const v8 = require('node:v8');
const { cacheNextTo, compile, run } = require('./load-bundle.cjs');

const HOST = '127.0.0.1';
const FOREVER_MS = 2 ** 31 - 1;
const MANIFEST = `
apiVersion: platform.io/v1
kind: PlatformAgent
metadata: { name: agent, version: 1.0.0, description: Fills the code cache. }
spec:
  model: { provider: openai, id: gpt-5, apiKey: $env:OPENAI_API_KEY }
  tools: [{ name: search }]
  guardrails: { input: [{ type: pii-detector }] }
`;
const PROBE = 'GET /readyz HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n';
const REQUEST =
  'POST /orders HTTP/1.1\r\nHost: agent\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
const RESPONSE = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';

process.env.UV_THREADPOOL_SIZE = '1';
stopTimers();
const [bundle, directory] = process.argv.slice(2).map((path) => resolve(path));
const folder = mkdtempSync(join(tmpdir(), 'code-cache-'));
process.once('exit', () => rmSync(folder, { recursive: true }));
const restoreFlags = watchFlags();
const agent = createServer((socket) => socket.once('data', () => socket.write(RESPONSE)));
const [first, second] = [createServer(), createServer()];
listen([agent, first, second], ([agentPort, proxyPort, controlPort]) => {
  agent.unref();
  first.close(() => second.close(() => fill(agentPort, proxyPort, controlPort)));
});

function fill(agentPort, proxyPort, controlPort) {
  const manifest = join(folder, 'agent.yaml');
  writeFileSync(manifest, MANIFEST);
  // The sidecar reads a file again that has changed a moment ago.
  utimesSync(manifest, 0, 0);
  Object.assign(process.env, {
    MANIFEST_PATH: manifest,
    UPSTREAM_URL: `http://${HOST}:${agentPort}`,
    BIND_ADDRESS: HOST,
    PROXY_PORT: String(proxyPort),
    CONTROL_PLANE_PORT: String(controlPort),
    POLICY_ENGINE: 'builtin',
    OPENAI_API_KEY: 'unused',
    LOG_LEVEL: 'error',
  });
  process.argv = [process.execPath, bundle];
  const script = compile(bundle);
  process.once('beforeExit', () => {
    if (process.exitCode) return;
    restoreFlags();
    mkdirSync(directory, { recursive: true });
    writeFileSync(cacheNextTo(join(directory, 'bundle.js')), script.createCachedData());
  });
  subscribe('tracing:net.server.listen:asyncEnd', ({ server }) => {
    // The sidecar starts this server last.
    if (server.address().port !== controlPort) return;
    ask(controlPort, PROBE, () =>
      ask(proxyPort, REQUEST, () => settle(() => process.emit('SIGTERM', 'SIGTERM'))),
    );
  });
  run(script, bundle, createRequire(bundle));
}

/** Calls `go` with the ports of the servers when all listen. */
function listen(servers, go, ports = []) {
  const [server, ...others] = servers;
  if (server === undefined) go(ports);
  else server.listen(0, HOST, () => listen(others, go, [...ports, server.address().port]));
}

/** Sends a request, and calls `go` after a response of 200, when the server has closed its side of the connection, too. */
function ask(port, request, go) {
  subscribe('net.server.socket', ({ socket }) => {
    if (socket.localPort === port) socket.once('close', go);
  });
  settle(() => {
    const socket = connect(port, HOST, () => socket.write(request));
    socket.once('data', (response) => {
      socket.destroy();
      if (!String(response).startsWith('HTTP/1.1 200 ')) throw new Error(String(response));
    });
  });
}

/** Calls `go` after the results of all file operations that have started: one thread runs them in their order. */
function settle(go) {
  stat(folder, () => timers.setImmediate(go));
}

/** On a busy machine, a step can take longer than the interval of a timer. */
function stopTimers() {
  globalThis.setTimeout = (go, ms, ...args) => timers.setTimeout(go, ms && FOREVER_MS, ...args);
  globalThis.setInterval = (go) => timers.setTimeout(go, FOREVER_MS);
}

/** The sidecar changes flags of V8, which refuses the cache of a process with other flags. Returns a function that changes them back. */
function watchFlags() {
  const { setFlagsFromString } = v8;
  const changed = [];
  v8.setFlagsFromString = (flag) => {
    changed.push(flag);
    setFlagsFromString(flag);
  };
  return () => {
    for (const flag of changed)
      setFlagsFromString(flag.startsWith('--no-') ? `--${flag.slice(5)}` : `--no-${flag.slice(2)}`);
  };
}
