import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { debianServer } from '../testing/machine/debian-server.ts';
import { pin } from './processes.ts';
import type { Prefix, Scenario } from './scenarios.ts';

export interface Load {
  port: number;
  prefix: Prefix;
  scenario: Scenario;
}

export interface LoadResult {
  requests: number;
  seconds: number;
  bytes: number;
  errors: number;
  p50Ms: number;
  p99Ms: number;
}

export interface LoadOptions {
  /** Default: 1. */
  seconds?: number;
  /** For the file with the request body. */
  directory: string;
}

/** Concurrent keep-alive connections. */
const CONNECTIONS = 32;

/** Sends requests as fast as responses arrive, on keep-alive connections. Rejects if any response is wrong. */
export async function load(
  { port, prefix, scenario }: Load,
  { seconds = 1, directory }: LoadOptions,
): Promise<LoadResult> {
  const wrk = debianServer('wrk');
  const file = join(directory, `${scenario.name}.body`);
  if (scenario.body !== '') writeFileSync(file, scenario.body);
  const flags = ['-t', '1', '-c', String(CONNECTIONS), '-d', `${seconds}s`, '--timeout', '5s'];
  const script = join(import.meta.dirname, 'wrk.lua');
  const child = spawn(wrk.command, [...wrk.leading, ...flags, '-s', script, `http://127.0.0.1:${port}/`], {
    env: {
      ...wrk.env,
      REQUEST_METHOD: scenario.method,
      REQUEST_PATH: `/${prefix}${scenario.path}`,
      ...(scenario.body !== '' && { REQUEST_BODY_FILE: file }),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: (seconds + 20) * 1000,
  });
  if (child.pid !== undefined) pin(child.pid, 'others');
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const line = output.split('\n').find((each) => each.startsWith('{'));
  if (line === undefined) throw new Error(`wrk printed no result: ${output}`);
  const result = JSON.parse(line) as LoadResult;
  const expected = Buffer.byteLength(scenario.response.join(''));
  if (result.requests === 0 || result.errors > 0 || result.bytes < result.requests * expected)
    throw new Error(`wrong or missing responses: ${line}`);
  return result;
}

/** Sends one request and checks the complete response. Rejects if the response is wrong. */
export async function check({ port, prefix, scenario }: Load): Promise<void> {
  const { method, path, body, response: expected } = scenario;
  const headers =
    body === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    method,
    path: `/${prefix}${path}`,
    headers,
    agent: false,
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const received = await text(response);
  if (response.statusCode !== 200 || received !== expected.join(''))
    throw new Error(
      `${method} ${path}: unexpected response ${response.statusCode}: ${received.slice(0, 200)}`,
    );
}
