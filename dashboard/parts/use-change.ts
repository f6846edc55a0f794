import { useEffect, useRef } from 'preact/hooks';

/** Calls `work` when the value is another one than in the rendering before. Not for the first value. */
export function useChange<T>(value: T, work: (before: T) => void): void {
  const known = useRef(value);
  useEffect(() => {
    const before = known.current;
    known.current = value;
    if (before !== value) work(before);
  }, [value]);
}
