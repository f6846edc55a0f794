import { signal, type ReadonlySignal, type Signal } from '@preact/signals';

const TICK_MS = 10_000;
let timer: ReturnType<typeof setInterval> | undefined;

const current: Signal<Date> = signal(new Date(), {
  watched() {
    // Not at once, because a component is rendering.
    queueMicrotask(tick);
    timer = setInterval(() => {
      if (!document.hidden) tick();
    }, TICK_MS);
  },
  unwatched() {
    clearInterval(timer);
  },
});

function tick(): void {
  current.value = new Date();
}

/** The time, for ages: changes every ten seconds while a component reads it. */
export const now: ReadonlySignal<Date> = current;
