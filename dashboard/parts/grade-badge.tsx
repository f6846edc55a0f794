import { NO_VALUE } from '../format.ts';

/** A grade by letter and color. null: not graded yet. `isOld`: no instance reports, so it may no longer be true. */
export function GradeBadge({ grade, isOld }: { grade: string | null; isOld: boolean }) {
  return (
    <span class={`grade grade-${isOld ? 'old' : grade}`}>
      <span class="visually-hidden">{grade === null ? 'No grade' : 'Grade '}</span>
      {grade ?? <span aria-hidden="true">{NO_VALUE}</span>}
      {isOld && <span class="visually-hidden"> (old)</span>}
    </span>
  );
}
