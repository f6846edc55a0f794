import { printable } from './rendered.ts';

/** Text of a manifest for one line of Markdown: it cannot become markup, HTML, a link, a mention or a table cell. */
export function markdownText(text: string): string {
  return printable(onOneLine(text)).replaceAll(/[\\`*_{}[\]()#+!|<>~@]/g, String.raw`\$&`);
}

/** Replaces each line break with the blanks around it. One expression for this takes quadratic time for a run of blanks. */
function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, (blanks) => (blanks.includes('\n') ? ' ' : blanks));
}

/** Text of a manifest as a code span, also inside a table. */
export function markdownCode(text: string): string {
  return `\`${printable(text)
    .replaceAll('`', 'ʼ')
    .replaceAll('|', String.raw`\|`)}\``;
}
