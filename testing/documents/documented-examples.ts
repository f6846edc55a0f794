import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestServers } from '../http/sockets.ts';

const root = dirname(dirname(import.meta.dirname));

/** The JavaScript examples of these pages, by the file name in their first line, else by page. */
export function examplesIn(pages: readonly string[]): Map<string, string> {
  const blocks = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/^```js\n(.*?)^```$/gms)].map(([, code = '']) => {
      const file = /^\/\/ ([\w-]+\.m?js)\n/.exec(code)?.[1];
      return [file ?? `an example without a name in ${page}`, code] as const;
    }),
  );
  return new Map(blocks);
}

/** Runs an example that listens on PORT, and stops it after `use`. */
export async function runServer(
  folder: string,
  file: string,
  use: (url: string) => Promise<void>,
): Promise<void> {
  const port = await new TestServers().closedPort();
  // Examples must not reach a real sidecar.
  const env = { PATH: process.env['PATH'], PORT: String(port), PLATFORM_SIDECAR_URL: 'http://127.0.0.1:9' };
  const child = spawn(process.execPath, [file], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  try {
    const url = `http://127.0.0.1:${port}`;
    const deadline = Date.now() + 120_000;
    while (!(await responds(`${url}/platform/usage`))) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`${file} does not respond: ${output}`);
      await sleep(50);
    }
    await use(url);
  } finally {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

async function responds(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}
