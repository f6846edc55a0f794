import type { ComponentChildren } from 'preact';

/** Shown instead of an empty list, with what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="notice notice-empty">
      <p class="notice-title">{title}</p>
      {children}
    </div>
  );
}
