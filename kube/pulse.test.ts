import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { Pulse } from './pulse.ts';

/** The product's seconds, fifty times as fast. */
const timing = { silentMs: 100, answerMs: 100, newAnswerMs: 60, againMs: 20 };

describe('a pulse', () => {
  let pulse: Pulse;
  let asked: string[];
  let dead: number;
  /** Which connections are answered. */
  let answers: { used: boolean; new: boolean };

  beforeEach(() => {
    [asked, dead, answers] = [[], 0, { used: true, new: true }];
    pulse = new Pulse({
      ask: async (connection) => {
        asked.push(connection);
        if (!answers[connection]) await delay(10_000, undefined, { ref: false });
      },
      onDead: () => (dead += 1),
      timing,
    });
  });
  afterEach(() => pulse.close());

  async function until(condition: () => boolean): Promise<void> {
    const end = performance.now() + 30_000;
    while (!condition()) {
      if (performance.now() > end) throw new Error(`not in half a minute; asked: ${asked.join(', ')}`);
      await delay(5);
    }
  }

  test('asks nothing while nothing is under way, and stops asking when it is over', async () => {
    await delay(300);
    expect(asked).toEqual([]);
    expect(pulse.silentMs()).toBe(Infinity);
    const isOver = pulse.begin();
    await until(() => asked.length > 1);
    isOver();
    await delay(200);
    const count = asked.length;
    await delay(300);
    expect(asked).toHaveLength(count);
  });

  test('hears a quiet server through the connections in use', async () => {
    pulse.begin();
    await until(() => asked.length >= 3);
    expect(new Set(asked)).toEqual(new Set(['used']));
    expect(pulse.silentMs()).toBeLessThan(60_000);
    expect(dead).toBe(0);
  });

  test('takes connections for dead only when a new one is answered', async () => {
    answers = { used: false, new: false };
    pulse.begin();
    await until(() => asked.filter((each) => each === 'new').length >= 3);
    expect(dead).toBe(0);
    expect(pulse.silentMs()).toBe(Infinity);
    answers.new = true;
    await until(() => dead >= 1);
    expect(pulse.silentMs()).toBeLessThan(60_000);
  });

  test('begins anew for what begins while it ends', async () => {
    pulse.begin()();
    await delay(150);
    pulse.begin();
    await until(() => asked.length >= 1);
  });
});
