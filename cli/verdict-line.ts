import { conditionValue } from '../core/observation/condition-value.ts';
import { printable } from './rendered.ts';
import type { Paint } from './table.ts';

const STYLES = { Yes: 'green', No: 'red', Unknown: 'yellow' } as const;

/** The verdict of an agent, as one line: `Compliant: no (the grade is below B)`. */
export function verdictLine({ status, message }: { status: string; message: string }, paint: Paint): string {
  const value = conditionValue(status);
  return `${paint('bold', 'Compliant:')} ${paint(STYLES[value], value.toLowerCase())} (${printable(message)})\n`;
}
