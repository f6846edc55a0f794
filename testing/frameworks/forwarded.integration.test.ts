// A TLS-terminating nginx, the sidecar, and a server that trusts the headers of one proxy. Scheme, host and client address must
// be the same as without the sidecar. `make test` runs Express; `make soak` also runs uvicorn and Flask's ProxyFix.
import { writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { issueCa, issueLeaf } from '../../webhook/certificates/issue.ts';
import { startNginx, whyNoDebianServers, type RunningServer } from '../machine/debian-server.ts';
import { manifestText } from '../manifests/manifest-text.ts';
import { ProcessRig } from '../machine/process-rig.ts';
import { Programs, whyNoPackages } from './programs.ts';
import type { Packages } from './row.ts';

const HOST = 'shop.example';
/** Differs from the host of nginx and the sidecar. */
const CLIENT = '127.0.0.2';

interface Received {
  status: number | undefined;
  location: string | undefined;
  body: string;
}

function get(url: string, ca?: string): Promise<Received> {
  const options: RequestOptions = { localAddress: CLIENT, agent: false, headers: { host: HOST } };
  return new Promise((resolve, reject) => {
    const request = url.startsWith('https:')
      ? httpsRequest(url, { ...options, ca, servername: HOST })
      : httpRequest(url, options);
    request.once('error', reject).once('response', (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      const { statusCode: status, headers } = response;
      response.once('end', () => resolve({ status, location: headers.location, body }));
    });
    request.end();
  });
}

async function startTls(upstream: number): Promise<{ server: RunningServer; ca: string }> {
  const validity = { now: new Date(), days: 1 };
  const authority = await issueCa(validity);
  const { cert, key } = await issueLeaf(authority, [HOST], validity);
  const server = await startNginx((folder, port) => {
    writeFileSync(join(folder, 'cert.pem'), cert);
    writeFileSync(join(folder, 'key.pem'), key);
    return `server {
      listen 127.0.0.1:${port} ssl;
      ssl_certificate ${join(folder, 'cert.pem')};
      ssl_certificate_key ${join(folder, 'key.pem')};
      location / {
        proxy_pass http://127.0.0.1:${upstream};
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header X-Forwarded-Host $host;
      }
    }`;
  });
  return { server, ca: authority.cert };
}

const SERVERS: readonly [name: string, program: string, packages: Packages][] = [
  ['Express', 'forwarded-express.mjs', 'none'],
  ['uvicorn', 'forwarded-uvicorn.py', 'python'],
  ['Flask with ProxyFix', 'forwarded-flask.py', 'python'],
];

const WANTED = SERVERS.filter(([, , packages]) => packages === 'none' || process.env['SOAK'] === '1');

for (const [name, program, packages] of WANTED) {
  const missing = whyNoDebianServers() ?? whyNoPackages(packages);
  (missing === undefined ? describe : describe.skip)(`${name} behind the sidecar`, () => {
    let programs: Programs;
    let rig: ProcessRig;
    const fronts: RunningServer[] = [];
    let sidecarUrl: string;
    /** nginx in front of the server, and nginx in front of the sidecar. */
    let urls: { url: string; ca: string }[];

    beforeAll(async () => {
      [programs, rig] = [new Programs(), await ProcessRig.open()];
      const [port = 0] = await freePorts(1);
      await programs.serve(program, packages, { PORT: String(port) });
      const manifest = await rig.file('agent.yaml', manifestText());
      const { proxyUrl } = await rig.startSidecar(port, manifest);
      sidecarUrl = proxyUrl;
      urls = [];
      for (const upstream of [port, Number(new URL(proxyUrl).port)]) {
        const { server, ca } = await startTls(upstream);
        fronts.push(server);
        urls.push({ url: `https://127.0.0.1:${server.port}`, ca });
      }
    });
    afterAll(async () => {
      for (const front of fronts) await front.close();
      await programs.close();
      await rig.close();
    });

    test('receives https, the host and the client from nginx', async () => {
      const responses = await Promise.all(urls.map(({ url, ca }) => get(`${url}/seen`, ca)));
      const seen = { scheme: 'https', host: HOST, client: CLIENT };
      expect(responses.map(({ body }) => JSON.parse(body) as unknown)).toEqual([seen, seen]);
    });

    test('redirects to https', async () => {
      const responses = await Promise.all(urls.map(({ url, ca }) => get(`${url}/there`, ca)));
      const locations = responses.map(({ location }) => location);
      expect(locations).toEqual([`https://${HOST}/there/`, `https://${HOST}/there/`]);
      expect(new Set(responses.map(({ status }) => status)).size).toBe(1);
    });

    test('receives the client address without another proxy', async () => {
      const { body } = await get(`${sidecarUrl}/seen`);
      expect(JSON.parse(body)).toEqual({ scheme: 'http', host: HOST, client: CLIENT });
    });
  });
}
