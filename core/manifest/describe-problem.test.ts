import { expect, test } from '@jest/globals';
import { describeProblem } from './describe-problem.ts';

const place = { line: 3, column: 7 };

test.each([
  [{ path: '', message: 'is empty', ...place }, 'dir/agent.yaml:3:7 is empty'],
  [
    { path: 'spec.tols', message: 'unknown key "tols"', suggestion: 'tools', ...place },
    'dir/agent.yaml:3:7 spec.tols: unknown key "tols" (did you mean "tools"?)',
  ],
  [
    { path: 'a', message: 'must be text, is the number 3.10', suggestion: '"3.10"', ...place },
    'dir/agent.yaml:3:7 a: must be text, is the number 3.10 (did you mean "3.10"?)',
  ],
  [
    { path: 'a', message: 'must be a number, is "12"', suggestion: '12', ...place },
    'dir/agent.yaml:3:7 a: must be a number, is "12" (did you mean 12?)',
  ],
  [
    { path: 'a', message: 'must be true or false, is "yes"', suggestion: 'true', ...place },
    'dir/agent.yaml:3:7 a: must be true or false, is "yes" (did you mean true?)',
  ],
  [
    { path: 'a', message: 'm', suggestion: 'a\u001bb', ...place },
    'dir/agent.yaml:3:7 a: m (did you mean "a\\u001bb"?)',
  ],
])('%j is one line', (problem, line) => {
  expect(describeProblem('dir/agent.yaml', problem)).toBe(line);
});
