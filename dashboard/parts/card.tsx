import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

export interface CardProps {
  title: string;
  /** Buttons and links next to the title. */
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

/** A titled part of a page. */
export function Card({ title, actions, children }: CardProps) {
  const id = useId();
  return (
    <section class="card" aria-labelledby={id}>
      <header class="card-header wrap">
        <h2 id={id}>{title}</h2>
        {actions !== undefined && <div class="card-actions wrap">{actions}</div>}
      </header>
      {children}
    </section>
  );
}
