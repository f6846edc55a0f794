import { sparkPoints } from './spark-points.ts';

const WIDTH = 56;
const HEIGHT = 16;

/** A small line without axes. `label`: the values in words. Nothing for fewer than two values. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  if (values.length < 2) return null;
  // The margin keeps the ends of the line inside.
  return (
    <svg
      class="sparkline"
      role="img"
      aria-label={label}
      viewBox={`-1 -2 ${WIDTH + 2} ${HEIGHT + 4}`}
      width={WIDTH + 2}
      height={HEIGHT + 4}
    >
      <polyline points={sparkPoints(values, WIDTH, HEIGHT)} />
    </svg>
  );
}
