/**
 * The `points` of a polyline with the values from left to right. The scale is the range of the values, but at least a fifth of the
 * largest one: without it, a change from 91 to 92 would look like a fall from 100 to 0.
 */
export function sparkPoints(values: readonly number[], width: number, height: number): string {
  const largest = Math.max(...values);
  const smallest = Math.min(...values);
  const range = Math.max(largest - smallest, Math.abs(largest) / 5, 1);
  const middle = (largest + smallest) / 2;
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  return values
    .map(
      (value, index) =>
        `${rounded(index * step)},${rounded(height / 2 - ((value - middle) / range) * height)}`,
    )
    .join(' ');
}

const rounded = (value: number): number => Math.round(value * 10) / 10;
