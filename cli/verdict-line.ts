import { conditionAnswer } from '../core/observation/condition-answer.ts';
import { printable } from './rendered.ts';
import type { Paint } from './table.ts';

const STYLES = { Yes: 'green', No: 'red', Unknown: 'yellow' } as const;

/** The verdict of an agent, as one line: `Compliant: no (the grade is below B)`. */
export function verdictLine({ status, message }: { status: string; message: string }, paint: Paint): string {
  const answer = conditionAnswer(status);
  return `${paint('bold', 'Compliant:')} ${paint(STYLES[answer], answer.toLowerCase())} (${printable(message)})\n`;
}
