import { setTimeout as sleep } from 'node:timers/promises';

/** Requests of one kind in a row, and the pause before each: the agent changes every 20 seconds. */
const [ROUND, PAUSE_MS] = [40, 500];

/** The misbehaving agent runs its pii-detector for long messages only. */
const MESSAGES = [
  'Hello. This message is longer than eighty characters, so that every guardrail runs. Where is order A-17, please?',
  'Where is order A-18?',
] as const;

export interface ChangeOptions {
  /** Proxy URL of the sidecar of the misbehaving agent. */
  proxyUrl: string;
  signal: AbortSignal;
  /** Default: real time. */
  pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/**
 * Sends requests to the misbehaving agent until `signal` aborts: for 20 seconds some for which it runs its guardrails, for 20
 * seconds some for which it skips one, and so on. So its score and its issues change.
 */
export async function keepChanging({ proxyUrl, signal, pause = pauseFor }: ChangeOptions): Promise<void> {
  try {
    // Until then, the commands that the demo prints return what it prints.
    await pause(ROUND * PAUSE_MS, signal);
    for (let request = 0; ; request += 1) {
      const message = MESSAGES[Math.floor(request / ROUND) % MESSAGES.length];
      const response = await fetch(`${proxyUrl}/v1/chat`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message }),
        signal,
      });
      await response.body?.cancel();
      await pause(PAUSE_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

const pauseFor = (ms: number, signal: AbortSignal): Promise<unknown> => sleep(ms, undefined, { signal });
