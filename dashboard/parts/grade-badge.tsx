import type { JSX } from 'preact';
import { NO_VALUE } from '../format.ts';
import { VisuallyHidden } from './visually-hidden.tsx';

/** A grade by letter and color. null: not graded yet. */
export function GradeBadge({ grade }: { grade: string | null }): JSX.Element {
  return (
    <span class={`grade grade-${grade ?? 'none'}`}>
      <VisuallyHidden>{grade === null ? 'No grade' : 'Grade '}</VisuallyHidden>
      {grade ?? <span aria-hidden="true">{NO_VALUE}</span>}
    </span>
  );
}
