// Loaded before a process of the demo (node --import), so that the process exits if the demo is killed and cannot stop it.
// Its standard input is a pipe from the demo without data, which closes when the demo ends in any way.
// `?folder=` is the demo's temporary directory, which the last process removes.
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
// The end is detected only while reading; unref() lets the process exit nevertheless.
process.stdin.resume();
process.stdin.unref();
