import type { Dispatcher } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import errors from 'undici/lib/core/errors.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { mendParser } from './mend-parser.ts';
import {
  connectTimeoutOf,
  type Upstream,
  type UpstreamFailure,
  type UpstreamHandler,
  type UpstreamOptions,
} from './upstream.ts';

/** The way to the agent for nearly every request: undici's pool, whose low-level dispatch costs the least per request. */
export function createPooledUpstream(options: UpstreamOptions): Upstream {
  const connect = buildConnector({
    allowH2: false,
    timeout: connectTimeoutOf(options.timeoutMs),
  });
  const pool = new Pool(options.url.origin, {
    connect: (target, callback) => {
      connect(target, (error, socket) => {
        if (error !== null) {
          unconnected.add(error);
          callback(error, null);
          return;
        }
        socket.on('error', (failure: Error) => {
          if (socket.bytesRead > 0) ofUsedSockets.add(failure);
        });
        callback(null, socket);
        if (!socket.destroyed) mendParser(socket);
      });
    },
    allowH2: false,
    pipelining: 1,
    bodyTimeout: 0,
    headersTimeout: options.timeoutMs ?? 0,
  });
  const prefix = options.url.pathname.replace(/\/$/, '');
  return {
    send({ method, path, headers, body }, handler) {
      pool.dispatch({ method, path: prefix + path, headers, body }, handlerFor(handler));
    },
    close: () => pool.destroy(),
  };
}

/** Errors of attempts to connect. */
const unconnected = new WeakSet<Error>();
/** Errors of sockets that had answered before: the agent may just have closed them while they were idle. */
const ofUsedSockets = new WeakSet<Error>();

function handlerFor(handler: UpstreamHandler): Dispatcher.DispatchHandler {
  let hasAnswered = false;
  return {
    onRequestStart: (controller) =>
      handler.onStart({
        abort: () => controller.abort(new errors.RequestAbortedError()),
        pause: () => controller.pause(),
        resume: () => controller.resume(),
      }),
    onResponseStarted: () => {
      hasAnswered = true;
    },
    onResponseStart: (controller, status, _headers, message) => {
      const raw = asStrings(controller.rawHeaders);
      if (status < 200) handler.onInformation(status, raw);
      else handler.onHead(status, message ?? '', raw);
    },
    onResponseData: (_controller, chunk) => handler.onData(chunk),
    onResponseEnd: (controller) => handler.onEnd(asStrings(controller.rawTrailers)),
    onResponseError: (_controller, error) => handler.onError({ kind: kindOf(error, hasAnswered), error }),
  };
}

function kindOf(error: Error, hasAnswered: boolean): UpstreamFailure['kind'] {
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.ConnectTimeoutError)
    return 'timeout';
  if (unconnected.has(error)) return 'unreachable';
  const wasUsed =
    ofUsedSockets.has(error) || (error instanceof errors.SocketError && (error.socket?.bytesRead ?? 0) > 0);
  return wasUsed && !hasAnswered ? 'stale' : 'broken';
}

/** Header bytes as the characters that Node writes them back as. */
function asStrings(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));
}
