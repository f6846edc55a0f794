import { verdictLine } from '../verdict-line.ts';
import { printable } from '../rendered.ts';
import { plural, table, type Cell, type Paint } from '../table.ts';
import type { ShownCall, ShownGap, ShownRow, ShownUsage } from './reports.ts';

/** One call as a line, for example `12:00:01  openai  gpt-5  search  1234+56 tokens  $0.0021  200  1.2 s`. */
export function callLine(call: ShownCall, paint: Paint): string {
  const { at, lane, model, toolsCalled, usage, statusCode, durationMs, violations } = call;
  const parts = [
    paint('dim', at.slice(11, 19)),
    printable(lane),
    printable(model ?? `${call.method} ${call.path}`),
    ...(toolsCalled.length > 0 ? [printable(`tools ${toolsCalled.join(', ')}`)] : []),
    ...(usage === null ? [] : [tokensText(usage)]),
    statusCode === null ? paint('red', 'no response') : String(statusCode),
    `${(durationMs / 1000).toFixed(1)} s`,
  ];
  if (violations.length > 0)
    parts.push(
      paint(
        call.blocked ? 'red' : 'yellow',
        `${call.blocked ? 'blocked' : 'violates'} ${printable(violations.join(', '))}`,
      ),
    );
  return `${parts.join('  ')}\n`;
}

function tokensText({ promptTokens, completionTokens, costUsd, priceDate }: ShownUsage): string {
  const tokens = `${promptTokens}+${completionTokens} tokens`;
  if (costUsd === undefined) return tokens;
  const prices = priceDate === undefined ? '' : ` (prices of ${printable(priceDate)})`;
  return `${tokens}  $${Number(costUsd.toPrecision(3))}${prices}`;
}

const STATE_STYLES: Readonly<Record<string, Cell['style']>> = {
  match: 'green',
  undeclared: 'red',
  misreported: 'red',
  unreported: 'yellow',
  'never-seen': 'dim',
  unknown: 'dim',
};

/** The matrix as a table. */
export function matrixText(rows: readonly ShownRow[], paint: Paint): string {
  if (rows.length === 0) return 'nothing is declared, reported or observed\n';
  const cells = rows.map(({ kind, name, declared, reported, observed, verdict, amount }): Cell[] => {
    const style = STATE_STYLES[verdict];
    return [
      { text: printable(kind) },
      { text: printable(name) },
      ...[declared, reported].map((each) => ({ text: knownText(each) })),
      { text: amount === undefined ? knownText(observed) : amountText(name, amount) },
      { text: printable(verdict), ...(style !== undefined && { style }) },
    ];
  });
  return table(['KIND', 'NAME', 'DECLARED', 'REPORTED', 'OBSERVED', 'VERDICT'], cells, paint);
}

const knownText = (known: boolean | null): string => (known === null ? '?' : known ? 'yes' : 'no');

const amountText = (name: string, amount: number): string =>
  name === 'cost' ? `$${Number(amount.toPrecision(3))}` : String(amount);

/** The verdict, score, grade and the issues, most severe first as in the report. */
export function gapText({ compliant, score, grade, issues }: ShownGap, paint: Paint): string {
  const verdict = compliant === undefined ? '' : verdictLine(compliant, paint);
  const head = `${verdict}${paint('bold', `${score}/100 ${grade}`)}  ${plural(issues.length, 'issue')}\n`;
  const lines = issues.map(
    ({ severity, property, description }) =>
      `  ${severity.padEnd(8)}  ${printable(property)}: ${printable(description)}\n`,
  );
  return head + lines.join('');
}
