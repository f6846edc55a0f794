// What a busy machine and a slow network do to a process, in every run: NODE_OPTIONS="--require ./testing/fault-injection.cjs"
// stops the thread for random moments, lets random writes to sockets leave late, lets what comes on sockets and from child
// processes arrive late, and lets random file operations take their time; all in their order. Every test must pass in it:
// one that does not has taken for granted what nothing promises. FAULTS= is the seed. With FAULTS_SPLIT=0.5 what is
// late may come in two parts too. Left as they are, since Node.js promises them: the order of microtasks, of timers that
// are due, and that a process has written to its own stdout and stderr when it says so.
'use strict';
const { ChildProcess } = require('node:child_process');
const files = require('node:fs/promises');
const { syncBuiltinESMExports } = require('node:module');
const { Socket } = require('node:net');

/** How often the thread is stopped, and for how long at most, in milliseconds; one stop in forty is LONG. */
const EVERY_MS = 150;
const STOP_MS = 40;
const LONG_MS = 400;
/** The share of writes, reads and file operations that are late, and by how many milliseconds at most. */
const LATE = Number(process.env.FAULTS_LATE ?? 0.15);
const LATE_MS = 40;
/** The share of those that come in two parts, which TCP does between machines and not within one; none unless asked for. */
const SPLIT = Number(process.env.FAULTS_SPLIT ?? 0);
/** What is longer is not taken apart, in bytes. */
const SPLIT_BYTES = 64 * 1024;
const SEED = process.env.FAULTS ?? '1';

// Real timers, whatever a test puts in their place.
const startTimer = globalThis.setTimeout;
const sleeper = new Int32Array(new SharedArrayBuffer(4));
let state = ((Number(SEED) || 1) * 7_919 + process.pid * 104_729) >>> 0;

/** Mulberry32: even, and enough for this. */
function chance() {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

/** What was written to a pipe at once is read at once, unless it is long. */
const isPipe = (socket) => socket._handle?.constructor.name === 'Pipe';
const isLate = () => chance() < LATE;
const later = (act) => void startTimer(act, chance() * LATE_MS);
/** Where bytes are taken apart; null: they stay together. */
const cut = ({ length }) =>
  length < 2 || length > SPLIT_BYTES || chance() >= SPLIT ? null : 1 + Math.floor(chance() * (length - 1));

function stop() {
  Atomics.wait(sleeper, 0, 0, chance() * (chance() < 1 / 40 ? LONG_MS : STOP_MS));
  startTimer(stop, chance() * 2 * EVERY_MS).unref();
}

/** Writes that have not left yet, by their socket. One is under way at a time, so those behind it keep their places. */
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
  // What was written before a socket is destroyed or the process ends is with the kernel by then.
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

/** What is held back of a socket's input (null: its end), and what comes meanwhile, so that all keep their places. */
function lateReads() {
  const held = new WeakMap();
  const failed = new WeakMap();
  const { push, destroy } = Socket.prototype;
  const release = (socket) => {
    const queue = held.get(socket);
    if (!socket.destroyed) push.call(socket, queue[0]);
    // As net does behind its own: the end of what nobody reads is to be noticed too.
    if (queue.shift() === null && !socket.destroyed) socket.read(0);
    if (queue.length > 0) later(() => release(socket));
    else if (failed.has(socket)) destroy.call(socket, failed.get(socket));
  };
  const hold = (socket, chunk) => {
    const queue = held.get(socket) ?? [];
    held.set(socket, queue);
    if (queue.push(chunk) === 1) later(() => release(socket));
    // Nothing more is read until it is out, or a slow reader would slow nobody down.
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
  // A connection that the other end has reset still gives what came before.
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
      // Node.js reads its modules so, hundreds of them one after the other.
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

/** Processes that get an environment of their own are in it too, and see nothing of that in their environment. */
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
