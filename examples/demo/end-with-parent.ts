// Loaded before a process of the demo (node --import): when the demo is killed, nobody is left to end it, so it ends by
// itself. Its standard input is a pipe that the demo holds and never writes to; it closes with the demo, however that dies.
// `?folder=` is the demo's own folder, which the last of them to end takes away.
import { rmSync } from 'node:fs';

const folder = new URL(import.meta.url).searchParams.get('folder');
const GRACE_MS = 5_000;

process.stdin.once('close', () => {
  process.once('exit', () => {
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
  });
  process.once('exit', () => {
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
  });
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), GRACE_MS).unref();
  process.kill(process.pid, 'SIGTERM');
});
process.stdin.on('error', () => process.stdin.destroy());
// Only what is read is seen to end; and waiting for it keeps no process alive.
process.stdin.resume();
process.stdin.unref();
