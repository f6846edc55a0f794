import { printable } from './rendered.ts';

/** Text of a manifest for one line of Markdown: it cannot become markup, HTML, a link, a mention or a table cell. */
export function markdownText(text: string): string {
  return printable(text.replaceAll(/\s*\n\s*/g, ' ')).replaceAll(/[\\`*_{}[\]()#+!|<>~@]/g, String.raw`\$&`);
}

/** Text of a manifest as a code span, also inside a table. */
export function markdownCode(text: string): string {
  return `\`${printable(text)
    .replaceAll('`', 'ʼ')
    .replaceAll('|', String.raw`\|`)}\``;
}
