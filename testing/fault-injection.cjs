// Simulates a busy machine and a slow network: NODE_OPTIONS="--require ./testing/fault-injection.cjs"
// blocks the thread at random times, delays random writes to sockets, delays data from sockets and child
// processes, and delays random file operations; the order is kept. Every test must pass with it:
// a failing test relies on timing that is not guaranteed. FAULTS= is the seed. With FAULTS_SPLIT=0.5 delayed data
// may also arrive in two parts. Not changed, because Node.js guarantees it: the order of microtasks and of due timers,
// and that a process has written to its own stdout and stderr when the write completes.
'use strict';
const { ChildProcess } = require('node:child_process');
const files = require('node:fs/promises');
const { syncBuiltinESMExports } = require('node:module');
const { Socket } = require('node:net');

/** Mean interval and maximum duration of thread stops, in milliseconds; one stop in forty is LONG. */
const EVERY_MS = 150;
const STOP_MS = 40;
const LONG_MS = 400;
/** Share of delayed writes, reads and file operations, and the maximum delay in milliseconds. */
const LATE = Number(process.env.FAULTS_LATE ?? 0.15);
const LATE_MS = 40;
/** Share of delayed data that is split in two, as TCP may do between machines; none by default. */
const SPLIT = Number(process.env.FAULTS_SPLIT ?? 0);
/** Longer data is not split, in bytes. */
const SPLIT_BYTES = 64 * 1024;
const SEED = process.env.FAULTS ?? '1';

// Real timers, even if a test replaces them.
const startTimer = globalThis.setTimeout;
const sleeper = new Int32Array(new SharedArrayBuffer(4));
let state = ((Number(SEED) || 1) * 7_919 + process.pid * 104_729) >>> 0;

/** Mulberry32: uniform and sufficient here. */
function chance() {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

/** Data that was written to a pipe at once is read at once unless it is long. */
const isPipe = (socket) => socket._handle?.constructor.name === 'Pipe';
const isLate = () => chance() < LATE;
const later = (act) => void startTimer(act, chance() * LATE_MS);
/** Position of the split; null: not split. */
const cut = ({ length }) =>
  length < 2 || length > SPLIT_BYTES || chance() >= SPLIT ? null : 1 + Math.floor(chance() * (length - 1));

function stop() {
  Atomics.wait(sleeper, 0, 0, chance() * (chance() < 1 / 40 ? LONG_MS : STOP_MS));
  startTimer(stop, chance() * 2 * EVERY_MS).unref();
}

/** Pending writes by socket. Only one is in progress at a time, so the order is kept. */
const leaving = new Map();

function lateWrites() {
  const { _write: write, destroy } = Socket.prototype;
  const gone = new WeakSet();
  const bytesOf = ({ chunk, encoding }) => (typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);
  const leave = (socket, bytes, callback) => {
    leaving.delete(socket);
    write.call(socket, bytes, 'buffer', callback);
  };
  const send = (socket, bytes, callback) => {
    leaving.set(socket, () => leave(socket, bytes, callback));
    later(() => {
      if (!leaving.has(socket)) return;
      const at = isPipe(socket) ? null : cut(bytes);
      if (at === null) leave(socket, bytes, callback);
      else
        leave(socket, bytes.subarray(0, at), (error) =>
          error || socket.destroyed ? callback(error) : send(socket, bytes.subarray(at), callback),
        );
    });
  };
  const patched = (original, chunksOf) =>
    function (...written) {
      if (this.connecting || this._isStdio || gone.has(this) || !isLate())
        return original.apply(this, written);
      send(this, Buffer.concat(chunksOf(...written).map(bytesOf)), written.at(-1));
    };
  Socket.prototype._writev = patched(Socket.prototype._writev, (chunks) => chunks);
  Socket.prototype._write = patched(write, (chunk, encoding) => [{ chunk, encoding }]);
  // Data written before the socket is destroyed or the process ends must reach the kernel.
  Socket.prototype.destroy = function (...args) {
    gone.add(this);
    leaving.get(this)?.();
    return destroy.apply(this, args);
  };
  process.on('exit', () => {
    for (const [socket, act] of leaving) {
      gone.add(socket);
      act();
    }
  });
}

/** Delayed input of a socket (null: its end) and later input, in order. */
function lateReads() {
  const held = new WeakMap();
  const failed = new WeakMap();
  const { push, destroy } = Socket.prototype;
  const release = (socket) => {
    const queue = held.get(socket);
    if (!socket.destroyed) push.call(socket, queue[0]);
    // As in net: the end of unread input must also be detected.
    if (queue.shift() === null && !socket.destroyed) socket.read(0);
    if (queue.length > 0) later(() => release(socket));
    else if (failed.has(socket)) destroy.call(socket, failed.get(socket));
  };
  const hold = (socket, chunk) => {
    const queue = held.get(socket) ?? [];
    held.set(socket, queue);
    if (queue.push(chunk) === 1) later(() => release(socket));
    // Stops reading until the data is delivered, so that back pressure works.
    return false;
  };
  Socket.prototype.push = function (chunk, encoding) {
    if (held.get(this)?.length > 0) return hold(this, chunk);
    if (!(Buffer.isBuffer(chunk) || chunk === null) || !isLate()) return push.call(this, chunk, encoding);
    const at = chunk === null || isPipe(this) ? null : cut(chunk);
    if (at === null) return hold(this, chunk);
    push.call(this, chunk.subarray(0, at));
    return hold(this, chunk.subarray(at));
  };
  // After a reset, earlier data is still delivered.
  Socket.prototype.destroy = function (error, ...rest) {
    if (error?.syscall !== 'read' || !(held.get(this)?.length > 0)) return destroy.call(this, error, ...rest);
    failed.set(this, error);
    return this;
  };
}

function lateFiles() {
  const names =
    'access appendFile copyFile cp lstat mkdir open readFile readdir rename rm stat unlink writeFile';
  const pause = () => new Promise((resolve) => later(resolve));
  for (const name of names.split(' ')) {
    const original = files[name];
    files[name] = async function (...args) {
      // Node.js loads its modules this way, hundreds of them sequentially.
      if (/\.[cm]?[jt]s$/.test(String(args[0]))) return original.apply(this, args);
      if (isLate()) await pause();
      try {
        return await original.apply(this, args);
      } finally {
        if (isLate()) await pause();
      }
    };
  }
  syncBuiltinESMExports();
}

/** Also applies to child processes with their own environment, which do not see the variables. */
function inherited() {
  const FORCED = 'FAULTS_FORCED';
  if (process.env[FORCED])
    for (const name of ['NODE_OPTIONS', 'FAULTS', 'FAULTS_LATE', 'FAULTS_SPLIT', FORCED])
      delete process.env[name];
  const { spawn } = ChildProcess.prototype;
  ChildProcess.prototype.spawn = function (options) {
    const pairs = options?.envPairs;
    if (pairs && !pairs.some((pair) => pair.startsWith('NODE_OPTIONS=')))
      pairs.push(
        `NODE_OPTIONS=--require ${JSON.stringify(module.filename)}`,
        ...[`FAULTS=${SEED}`, `FAULTS_LATE=${LATE}`, `FAULTS_SPLIT=${SPLIT}`, `${FORCED}=1`],
      );
    return spawn.call(this, options);
  };
}

lateWrites();
lateReads();
lateFiles();
inherited();
startTimer(stop, chance() * EVERY_MS).unref();
