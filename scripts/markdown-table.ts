/** Renders a Markdown table; a bar inside a cell is escaped. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
  return line(head) + line(head.map(() => '---')) + rows.map(line).join('');
}

/** The same for a page that is also written by hand: with the columns aligned, as the formatter does. */
export function alignedTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const padded = (cells: readonly string[]): string[] =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  return (
    line(padded(head)) +
    line(widths.map((width) => '-'.repeat(width))) +
    rows.map((row) => line(padded(row))).join('')
  );
}
