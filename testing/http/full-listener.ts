import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { stopProcess } from '../machine/stop-process.ts';

/** A listener with a full accept queue, because its process is suspended: the next connection hangs. */
export async function fullListener(): Promise<AsyncDisposable & { port: number }> {
  const script =
    "const s=require('net').createServer();s.listen({port:0,host:'127.0.0.1',backlog:1},()=>console.log(s.address().port))";
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  await stopProcess(child.pid!);
  const waiting: Socket[] = [];
  for (let hangs = false; !hangs;) {
    const socket = connect({ host: '127.0.0.1', port }).on('error', () => undefined);
    waiting.push(socket);
    await Promise.race([once(socket, 'connect'), sleep(200)]);
    // A process that did not run for a while handles the timer before the connection, although both are ready.
    await turn();
    hangs = socket.connecting;
  }
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of waiting) socket.destroy();
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}
