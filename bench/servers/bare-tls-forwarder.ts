// Minimal TLS forwarder on undici: takes the path of the lane away, passes headers and bodies unchanged and inspects nothing.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Pool } from 'undici';

const upstream = new URL(process.env['UPSTREAM_URL'] ?? '');
const pool = new Pool(upstream.origin, {
  connect: { ca: readFileSync(process.env['CA_FILE'] ?? '', 'utf8') },
});
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host']);
const LANE = '/openai';

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
  pool.dispatch(
    {
      method: method,
      path: url.slice(LANE.length),
      headers: forwarded(request.rawHeaders),
      body: request,
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
