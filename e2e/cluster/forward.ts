// A loopback port in front of a Service, so that a test can use fetch, the openai SDK or a WebSocket on it.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';

export interface Forward {
  /** `http://127.0.0.1:<port>` */
  url: string;
  close: () => Promise<void>;
}

/**
 * In front of an address inside an own cluster: through the Service's rules, as a pod's request would go.
 * `inside` is the command that runs something there; the Unix socket goes into `folder`.
 */
export async function forwardInside(
  inside: string,
  folder: string,
  target: { host: string; port: number },
): Promise<Forward> {
  // Short: a socket's path ends at 107 characters. Random: every test file counts from the start in the shared cluster.
  const path = join(folder, `f${randomBytes(3).toString('hex')}`);
  const relay = spawn(
    inside,
    [process.execPath, join(import.meta.dirname, 'relay.ts'), path, target.host, String(target.port)],
    { detached: true, stdio: 'pipe' },
  );
  await said(relay, /^ready$/m);
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const target = connect({ path, allowHalfOpen: true });
    sockets.add(client);
    client.pipe(target).pipe(client);
    client.on('error', () => target.destroy());
    target.on('error', () => client.destroy());
    client.on('close', () => {
      target.destroy();
      sockets.delete(client);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      relay.stdin?.end();
      await ended(relay);
    },
  };
}

/** In front of a Service of any cluster, with `kubectl port-forward`: to one of its pods. */
export async function forwardByKubectl(command: string[], env: NodeJS.ProcessEnv): Promise<Forward> {
  const [file = '', ...args] = command;
  const kubectl = spawn(file, args, { env, stdio: 'pipe' });
  const [, port = ''] = await said(kubectl, /Forwarding from 127\.0\.0\.1:(\d+)/);
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      kubectl.kill();
      await ended(kubectl);
    },
  };
}

/** Waits until the process has said it, or throws with what it said instead. */
function said(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  let output = '';
  return new Promise((resolve, reject) => {
    const read = (text: string) => {
      output += text;
      const match = pattern.exec(output);
      if (match) resolve(match);
    };
    child.stdout?.setEncoding('utf8').on('data', read);
    child.stderr?.setEncoding('utf8').on('data', read);
    child.once('error', reject);
    child.once('close', (code) => reject(new Error(`ended with ${code}: ${output}`)));
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
}
