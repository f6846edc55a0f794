import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startNginx } from '../machine/debian-server.ts';

/** A request as parsed by nginx; text is Latin-1, one character per byte. */
export interface NginxRequest {
  method: string;
  /** The raw request target. */
  uri: string;
  host: string;
  requestId: string;
  forwardedHost: string;
  body: string;
  /** 400 or 499: nginx could not parse the request, or it was truncated. */
  status: number;
  /** The raw request line. */
  line: string;
}

/** nginx as the agent: an independent parser for every byte that the proxy sends. */
export interface NginxAgent {
  url: URL;
  /** The requests that ended since the last call, in end order. */
  taken(): Promise<NginxRequest[]>;
  close(): Promise<void>;
}

const LOGGED: Readonly<Record<keyof NginxRequest, string>> = {
  method: '$request_method',
  uri: '$request_uri',
  host: '$http_host',
  requestId: '$http_x_request_id',
  forwardedHost: '$http_x_forwarded_host',
  body: '$request_body',
  status: '$status',
  line: '$request',
};

/** nginx reads bodies only to forward them, so complete requests are forwarded to a server that returns 200. */
function configuration(folder: string, port: number): string {
  const fields = Object.entries(LOGGED).map(([name, variable]) => `"${name}":"${variable}"`);
  return `
    log_format request escape=json '{${fields.join(',')}}';
    client_body_buffer_size 1m;
    client_body_in_single_buffer on;
    large_client_header_buffers 8 64k;
    server {
      listen 127.0.0.1:${port};
      access_log ${join(folder, 'requests.log')} request;
      location / {
        proxy_pass http://unix:${join(folder, 'sink')};
        proxy_http_version 1.1;
      }
    }
    server {
      listen unix:${join(folder, 'sink')};
      location / { return 200 "$request_method $request_uri"; }
    }`;
}

/** A marker request: requests that ended earlier precede it in the log. */
const MARK = '/--mark--';

/** Starts nginx as the agent. Call `whyNoDebianServers` first. */
export async function startNginxAgent(): Promise<NginxAgent> {
  const server = await startNginx(configuration);
  const url = new URL(`http://127.0.0.1:${server.port}`);
  const log = join(server.folder, 'requests.log');
  /** Number of log bytes already read. */
  let read = 0;
  let marks = 0;
  return {
    url,
    taken: async () => {
      marks += 1;
      const mark = `${MARK}${marks}`;
      await (await fetch(new URL(mark, url))).text();
      for (;;) {
        const text = (await readFile(log, 'latin1')).slice(read);
        const end = text.indexOf(`"uri":"${mark}"`);
        const lineEnd = text.indexOf('\n', end) + 1;
        if (end >= 0 && lineEnd > 0) {
          read += lineEnd;
          const lines = text.slice(0, lineEnd).split('\n').slice(0, -2);
          return lines.map((line) => parse(line)).filter(({ line }) => line !== '');
        }
        await sleep(2);
      }
    },
    close: () => server.close(),
  };
}

function parse(line: string): NginxRequest {
  const fields = JSON.parse(line) as Record<keyof NginxRequest, string>;
  return { ...fields, status: Number(fields.status) };
}
