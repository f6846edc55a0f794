// The recorded terminal of README.md, from the commands and outputs of "Get started", which a test compares with a real run.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocksIn } from '../testing/documents/documented-commands.ts';
import { escaped } from './svg-text.ts';

const PAGE = join(import.meta.dirname, '../docs/guide/start.md');
/** The commands that are shown, by how they begin. */
const SHOWN = ['platform scan', 'platform run --mode enforce'] as const;
const [WIDTH, LEFT, TOP, LINE, COLUMNS] = [920, 20, 52, 19, 106] as const;
/** The table at the end of a run, which the page shows. */
const MATRIX = /^KIND .* VERDICT\n.*/ms;
/** Seconds before a command and before a line of output. */
const [TYPED, PRINTED] = [1.2, 0.08] as const;
/** The class of a part of a line. */
const MARKED: readonly [RegExp, string][] = [
  [/\b(?:Stopped|critical|undeclared|delete_all_orders|removed|not compliant)\b/i, 'bad'],
  [/\b(?:match|valid)\b/, 'good'],
  [/^(?:KIND|\w+  +[A-Z]{3,}).*$/, 'soft'],
];

interface Line {
  text: string;
  isCommand: boolean;
}

/** Lines of at most COLUMNS characters; the rest of a longer line is indented. */
function wrapped(text: string): string[] {
  if (text.length <= COLUMNS) return [text];
  const end = text.lastIndexOf(' ', COLUMNS);
  const at = end > COLUMNS / 2 ? end : COLUMNS;
  return [text.slice(0, at), ...wrapped(`            ${text.slice(at).trimStart()}`)];
}

function shownLines(): Line[] {
  const blocks = blocksIn(readFileSync(PAGE, 'utf8'));
  return SHOWN.flatMap((command) => {
    const at = blocks.findIndex(({ language, body }) => language === 'sh' && body.startsWith(command));
    const [typed, printed] = [blocks[at], blocks[at + 1]];
    if (typed === undefined || printed?.language !== '')
      throw new Error(`${PAGE} does not show the output of "${command}"`);
    const output = printed.body.replace(MATRIX, '').trimEnd().split('\n').flatMap(wrapped);
    return [
      { text: `$ ${typed.body.trim()}`, isCommand: true },
      ...output.map((text) => ({ text, isCommand: false })),
      { text: '', isCommand: false },
    ];
  }).slice(0, -1);
}

function colored(text: string): string {
  for (const [pattern, name] of MARKED) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const end = found.index + found[0].length;
    const marked = `<tspan class="${name}">${escaped(found[0])}</tspan>`;
    return `${colored(text.slice(0, found.index))}${marked}${colored(text.slice(end))}`;
  }
  return escaped(text);
}

/** `docs/images/terminal.svg`: the lines appear in their order; without animations all are visible. */
export function terminalRecording(): string {
  const lines = shownLines();
  // The first command is visible at once.
  let [seconds, y] = [-TYPED, TOP];
  const rows: string[] = [];
  for (const { text, isCommand } of lines) {
    seconds += isCommand ? TYPED : PRINTED;
    const delay = `style="animation-delay:${Math.max(0, seconds).toFixed(2)}s"`;
    if (text !== '')
      rows.push(
        `  <text x="${LEFT}" y="${y}" ${delay}${isCommand ? ' class="typed"' : ''}>${isCommand ? escaped(text) : colored(text)}</text>`,
      );
    y += LINE;
  }
  const height = y + 6;
  const described = lines.map(({ text }) => text).join('\n');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title desc">
  <title id="title">A terminal in which an undeclared tool call of an agent is removed</title>
  <desc id="desc">${escaped(described)}</desc>
  <style>
    text { font: 12.5px ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace; fill: #e6edf3; white-space: pre; animation: appear 1ms step-end backwards; }
    @keyframes appear { from { opacity: 0; } }
    @media (prefers-reduced-motion: reduce) { text { animation: none; } }
    .typed { font-weight: 600; fill: #79c0ff; }
    .soft { fill: #9198a1; }
    .good { fill: #56d364; }
    .bad { fill: #ff7b72; font-weight: 600; }
  </style>
  <rect width="${WIDTH}" height="${height}" rx="10" fill="#0d1117" />
  <circle cx="24" cy="20" r="6" fill="#6e7681" />
  <circle cx="44" cy="20" r="6" fill="#6e7681" />
  <circle cx="64" cy="20" r="6" fill="#6e7681" />
${rows.join('\n')}
</svg>
`;
}
