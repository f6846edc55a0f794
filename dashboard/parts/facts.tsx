import type { ComponentChildren } from 'preact';

/** A named value. The note is an explanation below the value. */
export type Fact = readonly [label: string, value: ComponentChildren, note?: ComponentChildren];

/** Named values as a list. */
export function Facts({ items }: { items: readonly Fact[] }) {
  return (
    <dl class="facts">
      {items.map(([label, value, note]) => (
        <div key={label} class="fact">
          <dt>{label}</dt>
          <dd>
            {value}
            {note !== undefined && <div class="fact-note">{note}</div>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
