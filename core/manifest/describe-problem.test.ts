import { expect, test } from '@jest/globals';
import { describeProblem } from './describe-problem.ts';

const place = { line: 3, column: 7 };

test.each([
  [{ path: '', message: 'file is empty', ...place }, 'dir/agent.yaml:3:7 file is empty'],
  [
    { path: 'spec.tols', message: 'unknown key "tols"', suggestion: 'tools', ...place },
    'dir/agent.yaml:3:7 spec.tols: unknown key "tols" (did you mean "tools"?)',
  ],
  [
    { path: 'a', message: 'must be a string; got the number 3.10', suggestion: '"3.10"', ...place },
    'dir/agent.yaml:3:7 a: must be a string; got the number 3.10 (did you mean "3.10"?)',
  ],
  [
    { path: 'a', message: 'must be a number; got "12"', suggestion: '12', ...place },
    'dir/agent.yaml:3:7 a: must be a number; got "12" (did you mean 12?)',
  ],
  [
    { path: 'a', message: 'must be true or false; got "yes"', suggestion: 'true', ...place },
    'dir/agent.yaml:3:7 a: must be true or false; got "yes" (did you mean true?)',
  ],
  [
    { path: 'a', message: 'm', suggestion: 'a\u001bb', ...place },
    'dir/agent.yaml:3:7 a: m (did you mean "a\\u001bb"?)',
  ],
])('describes %j in one line', (problem, line) => {
  expect(describeProblem('dir/agent.yaml', problem)).toBe(line);
});
