import { signal, type ReadonlySignal } from '@preact/signals';

const last = signal({ id: 0, text: '' });

/** The last announcement; the shell has the live region for it. `id` changes with each one, so that a repetition is read too. */
export const announcement: ReadonlySignal<{ id: number; text: string }> = last;

/** Reports a change to screen readers when they finished what they read. */
export function announce(text: string): void {
  last.value = { id: last.peek().id + 1, text };
}
