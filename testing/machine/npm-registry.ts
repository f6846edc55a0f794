import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = dirname(dirname(import.meta.dirname));

/** An npm registry on loopback that has one package without dependencies: the one in this repository's node_modules. */
export async function startNpmRegistry(
  name: string,
  folder: string,
): Promise<{ url: string; close(): Promise<void> }> {
  const installed = join(ROOT, 'node_modules', name);
  await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder, installed]);
  const archive = readFileSync(join(folder, readdirSync(folder).find((file) => file.endsWith('.tgz')) ?? ''));
  const described = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { version: string };
  const server = createServer((request, response) => {
    if (request.url === '/archive.tgz') response.end(archive);
    else if (request.url !== `/${name}`) response.writeHead(404).end('{}');
    else {
      const { version } = described;
      const versions = { [version]: { ...described, dist: { tarball: `${url}/archive.tgz` } } };
      response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    close: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  };
}
