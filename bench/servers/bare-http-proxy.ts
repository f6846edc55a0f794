// http-proxy as in its README, with the one option that makes it fast: keep-alive connections to the agent.
import { Agent, createServer } from 'node:http';
import httpProxy from 'http-proxy';

const proxy = httpProxy.createProxyServer({
  target: process.env['UPSTREAM_URL'],
  agent: new Agent({ keepAlive: true }),
});
proxy.on('error', (_error, _request, response) => {
  if ('writeHead' in response) response.writeHead(502).end();
});
createServer((request, response) => proxy.web(request, response)).listen(
  Number(process.env['PORT']),
  '127.0.0.1',
);
