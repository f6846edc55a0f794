// Minimal proxy on undici: passes headers and bodies unchanged and inspects nothing.
import { createServer } from 'node:http';
import { Pool } from 'undici';

const pool = new Pool(process.env['UPSTREAM_URL'] ?? '');
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding']);

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
      path: url,
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
}).listen(Number(process.env['PORT']), '127.0.0.1');
