import { styleText } from 'node:util';

export type Paint = (style: 'red' | 'green' | 'yellow' | 'dim' | 'bold', text: string) => string;

/** Returns a function that adds colour codes, or none if `color` is false. */
export function painter(color: boolean): Paint {
  return (style, text) => (color ? styleText(style, text, { validateStream: false }) : text);
}

/** One cell: its text, which determines the width, and its style. */
export interface Cell {
  text: string;
  style?: Parameters<Paint>[0];
}

/** Columns are as wide as their widest cell; the last column is not padded. */
export function table(head: readonly string[], rows: readonly Cell[][], paint: Paint): string {
  const lines = [head.map((text): Cell => ({ text, style: 'bold' })), ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.text.length ?? 0)));
  return lines
    .map((line) => {
      const cells = line.map(({ text, style }, column) => {
        const padding = column === head.length - 1 ? '' : ' '.repeat((widths[column] ?? 0) - text.length);
        return (style === undefined ? text : paint(style, text)) + padding;
      });
      return `${cells.join('  ').trimEnd()}\n`;
    })
    .join('');
}

export function plural(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}
