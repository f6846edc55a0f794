import {
  request as httpRequest,
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { request as httpsRequest } from 'node:https';

/** A reply contains a few proofs at most; a larger reply is an error. */
const MAX_REPLY_BYTES = 256 * 1024;

export interface PostRequest {
  url: URL;
  /** Default: POST. */
  method?: 'PUT';
  /** Absent: the request carries no credential. */
  bearer?: string;
  /** Also replace those that are set here. */
  headers?: Readonly<Record<string, string>>;
  /** JSON text, other content with its own `content-type`, or null for a POST without a body. */
  body: string | Buffer | null;
  /** PEM; null or absent: the certificates that Node.js trusts. */
  ca?: string | null;
  /** Limit for the whole exchange, including a slow reply. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** Reuses connections; absent: each request has its own connection. */
  agent?: Agent;
  /** Whether the exchange must not keep the process alive. */
  isBackground?: boolean;
}

export interface PostReply {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** One POST. Rejects when the response is missing or incomplete; redirects are not followed. */
export async function postJson(post: PostRequest): Promise<PostReply> {
  const timeout = AbortSignal.timeout(post.timeoutMs);
  const signal = post.signal === undefined ? timeout : AbortSignal.any([post.signal, timeout]);
  return exchange(post, signal).catch((error: unknown) => {
    const isLate = timeout.aborted && post.signal?.aborted !== true;
    // No `cause`: the original error only states that a signal aborted the request.
    throw isLate ? new Error(`no response within ${post.timeoutMs} ms`) : error;
  });
}

function exchange(post: PostRequest, signal: AbortSignal): Promise<PostReply> {
  const body = post.body ?? '';
  const options = {
    method: post.method ?? 'POST',
    // A pooled socket would be idle for a whole heartbeat interval and could be dead when it is needed.
    agent: post.agent ?? (false as const),
    signal,
    headers: {
      accept: 'application/json',
      ...(post.body === null ? {} : { 'content-type': 'application/json' }),
      ...post.headers,
      ...(post.bearer === undefined ? {} : { authorization: `Bearer ${post.bearer}` }),
      'content-length': Buffer.byteLength(body),
    },
  };
  return new Promise((resolve, reject) => {
    const onResponse = (response: IncomingMessage): void => {
      readReply(response).then(resolve, reject);
    };
    const request =
      post.url.protocol === 'https:'
        ? httpsRequest(post.url, { ...options, ca: post.ca ?? undefined }, onResponse)
        : httpRequest(post.url, options, onResponse);
    if (post.isBackground === true) request.once('socket', (socket) => socket.unref());
    request.on('error', reject);
    request.end(body);
  });
}

async function readReply(response: IncomingMessage): Promise<PostReply> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_REPLY_BYTES) {
      response.destroy();
      throw new Error(`the response is larger than ${MAX_REPLY_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks).toString('utf8'),
  };
}
