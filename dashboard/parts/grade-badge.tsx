import type { JSX } from 'preact';
import { NO_VALUE } from '../format.ts';
import { VisuallyHidden } from './visually-hidden.tsx';

/** A grade by letter and color. null: not graded yet. `isOld`: no instance reports, so it may no longer be true. */
export function GradeBadge({ grade, isOld }: { grade: string | null; isOld: boolean }): JSX.Element {
  return (
    <span class={`grade grade-${isOld ? 'old' : grade}`}>
      <VisuallyHidden>{grade === null ? 'No grade' : 'Grade '}</VisuallyHidden>
      {grade ?? <span aria-hidden="true">{NO_VALUE}</span>}
      {isOld && <VisuallyHidden> (old)</VisuallyHidden>}
    </span>
  );
}
