/** A phase by word, color and shape. */
export function PhaseBadge({ phase }: { phase: string }) {
  return <span class={`phase phase-${phase.toLowerCase()}`}>{phase}</span>;
}
