// What a busy machine and a slow network do to a process, in every run: NODE_OPTIONS="--require ./testing/turbulence.cjs"
// stops the thread for random moments and lets random writes to sockets leave late, in their order. Every test must pass
// in it: one that does not has taken an order of events for granted that nothing promises. TURBULENCE= is the seed.
'use strict';
const { Socket } = require('node:net');

/** How often the thread is stopped, and for how long at most, in milliseconds; one stop in forty is LONG. */
const EVERY_MS = 150;
const STOP_MS = 40;
const LONG_MS = 400;
/** The share of writes that leave late, and by how many milliseconds at most. */
const LATE = Number(process.env.TURBULENCE_LATE ?? 0.15);
const LATE_MS = 40;

// Real timers, whatever a test puts in their place.
const { setTimeout } = globalThis;
const sleeper = new Int32Array(new SharedArrayBuffer(4));
let state = ((Number(process.env.TURBULENCE) || 1) * 7_919 + process.pid * 104_729) >>> 0;

/** Mulberry32: even, and enough for this. */
function chance() {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

function stop() {
  Atomics.wait(sleeper, 0, 0, chance() * (chance() < 1 / 40 ? LONG_MS : STOP_MS));
  setTimeout(stop, chance() * 2 * EVERY_MS).unref();
}
setTimeout(stop, chance() * EVERY_MS).unref();

for (const method of ['_write', '_writev']) {
  const original = Socket.prototype[method];
  Socket.prototype[method] = function (...written) {
    if (chance() >= LATE || this.connecting) return original.apply(this, written);
    // One write is under way at a time, so those behind it keep their places.
    setTimeout(() => {
      if (this.destroyed) written.at(-1)(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
      else original.apply(this, written);
    }, chance() * LATE_MS);
  };
}
