// Opens a loopback port for a Service, so that a test can use fetch, the openai SDK or a WebSocket.
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
 * Forwards to an address inside a local cluster, through the Service's rules like a pod's request.
 * `inside` is the command that runs a program there; the Unix socket is created in `directory`.
 */
export async function forwardInside(
  inside: string,
  directory: string,
  target: { host: string; port: number },
): Promise<Forward> {
  // Short, because socket paths are limited to 107 characters. Random, because test files share the cluster.
  const path = join(directory, `f${randomBytes(3).toString('hex')}`);
  const relay = spawn(
    inside,
    [process.execPath, join(import.meta.dirname, 'relay.ts'), path, target.host, String(target.port)],
    { detached: true, stdio: 'pipe' },
  );
  await waitForOutput(relay, /^ready$/m);
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

/** Forwards to a pod of a Service in any cluster, with `kubectl port-forward`. */
export async function forwardByKubectl(command: string[], env: NodeJS.ProcessEnv): Promise<Forward> {
  const [file = '', ...args] = command;
  const kubectl = spawn(file, args, { env, stdio: 'pipe' });
  const [, port = ''] = await waitForOutput(kubectl, /Forwarding from 127\.0\.0\.1:(\d+)/);
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      kubectl.kill();
      await ended(kubectl);
    },
  };
}

/** Waits until the output matches; throws with the output if the process ends. */
function waitForOutput(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
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
    child.once('close', (code) => reject(new Error(`exited with ${code}: ${output}`)));
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
}
