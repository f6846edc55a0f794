/** Line and column (1-based) of an offset into a text. Columns count UTF-16 units, as editors do. */
export type Place = (offset: number) => { line: number; column: number };

export function placesIn(text: string): Place {
  const starts = [0];
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) starts.push(end + 1);
  return (offset) => {
    const inside = Math.min(Math.max(offset, 0), text.length);
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= inside) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: inside - (starts[low] ?? 0) + 1 };
  };
}
