// Minimal proxy on undici: passes headers and bodies unchanged and inspects nothing. CA_FILE: verifies the upstream with these CAs.
// LANE_PATH: takes the path of an egress lane and the host away, as a forwarder to a vendor does.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Pool } from 'undici';

const { CA_FILE, LANE_PATH = '', PORT, UPSTREAM_URL = '' } = process.env;
const pool = new Pool(
  UPSTREAM_URL,
  CA_FILE === undefined ? {} : { connect: { ca: readFileSync(CA_FILE, 'utf8') } },
);
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  ...(LANE_PATH === '' ? [] : ['host']),
]);

function forwarded(raw: readonly (string | Buffer)[]): string[] {
  const head: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const name = String(raw[i]);
    if (!HOP_BY_HOP.has(name.toLowerCase())) head.push(name, String(raw[i + 1]));
  }
  return head;
}

createServer((request, response) => {
  const { method = 'GET', url = '/' } = request;
  const hasBody = 'content-length' in request.headers || 'transfer-encoding' in request.headers;
  pool.dispatch(
    {
      method: method,
      path: url.slice(LANE_PATH.length),
      headers: forwarded(request.rawHeaders),
      body: hasBody ? request : null,
    },
    {
      onRequestStart: (controller) => void response.once('close', () => controller.abort(new Error('gone'))),
      onResponseStart: ({ rawHeaders }, status) =>
        void response.writeHead(status, forwarded(Array.isArray(rawHeaders) ? rawHeaders : [])),
      onResponseData: (controller, chunk) => {
        if (response.write(chunk)) return;
        controller.pause();
        response.once('drain', () => controller.resume());
      },
      onResponseEnd: () => void response.end(),
      onResponseError: () => void response.destroy(),
    },
  );
}).listen(Number(PORT), '127.0.0.1');
