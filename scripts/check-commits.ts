// Checks the messages of the commits since the rule began (CONTRIBUTING.md, "Commits"): `component: imperative change`, at most 72
// characters, then an empty line before the reason. Prints each invalid message. Exit code 1 if there is one.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** The last commit before the rule. */
const BEFORE = '8b1936facc4c';
const MAX_SUBJECT = 72;
/** Verbs in the third person or the past, which are not imperative. */
const NOT_IMPERATIVE =
  /^(?:adds|added|fixes|fixed|removes|removed|changes|changed|makes|made|lets|says|takes|gives)\b/;

/** What is wrong with a message; null when nothing is. */
export function messageProblem(message: string): string | null {
  const [subject = '', second = ''] = message.split('\n');
  if (subject.length > MAX_SUBJECT)
    return `the subject has ${subject.length} characters, more than ${MAX_SUBJECT}`;
  const change = /^[a-z0-9][a-z0-9/ .,-]*: (.+)$/.exec(subject)?.[1];
  if (change === undefined) return 'the subject is not "component: imperative change"';
  if (NOT_IMPERATIVE.test(change)) return `"${change.split(' ')[0]}" is not an imperative`;
  if (/[.!?]$/.test(subject)) return 'the subject ends with a punctuation mark';
  return second === '' ? null : 'the line after the subject is not empty';
}

const git = (root: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

function main(root: string): number {
  let log: string;
  try {
    log = git(root, 'log', '--no-merges', '--format=%h%n%B%x00', `${BEFORE}..HEAD`);
  } catch {
    console.log('commits: not checked, because the history is not here (a shallow clone, or no repository)');
    return 0;
  }
  const commits = log
    .split('\0')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  const wrong = commits.flatMap((each) => {
    const [hash = '', ...lines] = each.split('\n');
    const problem = messageProblem(lines.join('\n'));
    return problem === null ? [] : [`${hash} ${lines[0] ?? ''}: ${problem}`];
  });
  for (const line of wrong) console.log(line);
  console.log(`commits: ${commits.length} messages, ${wrong.length} to change`);
  return wrong.length === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = main(join(import.meta.dirname, '..'));
