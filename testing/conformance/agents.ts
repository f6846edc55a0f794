import { join } from 'node:path';
import { pythonInterpreter } from '../machine/python-interpreter.ts';

/** The agent of the conformance suites with the reporter of one language. */
export interface ConformanceAgent {
  language: string;
  /** Program and arguments. */
  command: readonly string[];
  /** Whether this machine has the language. */
  isHere: boolean;
}

const PYTHON = pythonInterpreter(10);
if (PYTHON === undefined)
  process.stderr.write(
    'SKIPPED: Python 3.10 is missing: required by the conformance suites of the reporters\n',
  );

export const FOLDER = import.meta.dirname;
export const AGENTS: readonly ConformanceAgent[] = [
  { language: 'Node.js', command: [process.execPath, join(FOLDER, 'node-agent.ts')], isHere: true },
  {
    language: 'Python',
    command: [PYTHON ?? '', join(FOLDER, 'python_agent.py')],
    isHere: PYTHON !== undefined,
  },
];
