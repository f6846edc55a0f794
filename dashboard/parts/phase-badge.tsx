import type { JSX } from 'preact';

/** A phase by word, color and shape. */
export function PhaseBadge({ phase }: { phase: string }): JSX.Element {
  return <span class={`phase phase-${phase.toLowerCase()}`}>{phase}</span>;
}
