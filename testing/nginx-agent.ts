import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startNginx } from './debian-server.ts';

/** A request as nginx read it; text is latin-1, a character a byte. */
export interface NginxRequest {
  method: string;
  /** The request target as it came. */
  uri: string;
  host: string;
  requestId: string;
  forwardedHost: string;
  body: string;
  /** 400 or 499: nginx could not read it, or it was cut. */
  status: number;
  /** The request line as it came. */
  line: string;
}

/** nginx in an agent's place, as the second reading of every byte that the proxy sends. */
export interface NginxAgent {
  url: URL;
  /** The requests that ended since the last call, in the order of their ends. */
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

/** nginx reads a body only for somebody: what it has whole goes on to a server of its own, which answers 200. */
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

/** Asked of nginx itself: what ended before this one stands before it in the log. */
const MARK = '/--mark--';

/** Ask `whyNoDebianServers` first. */
export async function startNginxAgent(): Promise<NginxAgent> {
  const server = await startNginx(configuration);
  const url = new URL(`http://127.0.0.1:${server.port}`);
  const log = join(server.folder, 'requests.log');
  /** Bytes of the log that were taken. */
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
