// Finds words in texts, comments and names that docs/glossary.md and CONTRIBUTING.md replace by the terms of the field.
// Prints file, line, the word and what to use instead; exit code 1 when there is one.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Term {
  pattern: RegExp;
  use: string;
}

const TERMS: readonly Term[] = [
  { pattern: /\bmend(?:s|ed|ing)?\b/i, use: 'fix, repair, remediation' },
  { pattern: /\banew\b/i, use: 'again' },
  { pattern: /\bbesides?\b/i, use: 'next to, in addition to, except' },
  { pattern: /\b(?:whoever|whomever)\b/i, use: 'the person or process that' },
  { pattern: /\b(?:nobody|somebody|anybody)\b/i, use: 'a named subject' },
  { pattern: /\btold\b/i, use: 'reported, emitted, notified' },
  { pattern: /\b(?:its|their|in its|in their) stead\b/i, use: 'instead' },
  { pattern: /\bfor want of\b/i, use: 'because of a missing' },
  { pattern: /\bof (?:yours|ours|theirs)\b(?!\))/i, use: 'your, our, their' },
  { pattern: /\b(?:goes|go|going|went) past\b/i, use: 'bypass' },
  { pattern: /\bheld against\b/i, use: 'compared with' },
  { pattern: /\bas (?:it|they) stands?\b/i, use: 'unchanged, verbatim' },
  { pattern: /\b(?:that|which|who) (?:is|are) none\b/i, use: 'an invalid, a missing' },
  { pattern: /(?<!\bthere )(?<!\bthis )\bis no (?!longer\b|more\b|less\b)/i, use: 'is not a' },
  { pattern: /\b(?:is|are) as good as\b/i, use: 'counts as' },
  { pattern: /\b(?:believes?|believed)\b/i, use: 'trust, use' },
  { pattern: /\bpatience\b/i, use: 'time-out, limit' },
  { pattern: /\b(?:hears?|heard) (?:of|from|nothing|no)\b/i, use: 'receive' },
  { pattern: /\bof before\b(?!\))/i, use: 'previous, earlier' },
  { pattern: /\b(?:wakes|woken)\b/i, use: 'retries, scales up' },
  { pattern: /\bturbulence\b/i, use: 'fault injection' },
  { pattern: /\b(?:lets?|letting) (?:\w+ ){1,2}in\b(?! flight)/i, use: 'admit, inject, allow' },
  { pattern: /\bin the place of\b/i, use: 'instead of' },
  { pattern: /\bto no end\b|\bfor ever\b/i, use: 'without end, forever' },
];

/** Where a word is right: recorded texts of other projects, names that are part of an interface, and the lists of the words. */
const EXCEPTIONS: readonly { file: RegExp; pattern?: RegExp; why: string }[] = [
  { file: /^core\/usage\/samples\//, why: 'recorded responses' },
  { file: /^testing\/frameworks\/.*\.(?:json|lock|txt)$/, why: 'recorded results' },
  { file: /(?:^|\/)package-lock\.json$/, why: 'package metadata' },
  { file: /THIRD-PARTY|^LICENSE$/, why: 'licences' },
  { file: /^scripts\/check-words(?:\.test)?\.ts$/, why: 'this list' },
  { file: /^examples\/agents\/guardrails\.test\.ts$/, why: 'a sentence for the guardrails' },
  { file: /./, pattern: /platform_operator_wakes_total/, why: 'a metric of released versions' },
];

const TEXT =
  /\.(?:ts|tsx|css|html|mjs|cjs|js|sh|md|yaml|yml|json|tpl|txt|svg|py|c|env)$|(?:^|\/)(?:Makefile|Dockerfile|run)$/;

export interface Finding {
  file: string;
  line: number;
  word: string;
  use: string;
}

/** The words of one text that are to be replaced. */
export function wordsIn(file: string, text: string): Finding[] {
  const exceptions = EXCEPTIONS.filter((each) => each.file.test(file));
  if (exceptions.some(({ pattern }) => pattern === undefined)) return [];
  return text.split('\n').flatMap((line, index) => {
    const checked = exceptions.reduce((rest, { pattern }) => rest.replace(pattern ?? /$^/, ''), line);
    return TERMS.flatMap(({ pattern, use }) => {
      const word = pattern.exec(checked)?.[0];
      return word === undefined ? [] : [{ file, line: index + 1, word, use }];
    });
  });
}

function main(root: string): number {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  const files = listed.split('\0').filter((file) => TEXT.test(file));
  const findings = files.flatMap((file) => wordsIn(file, readFileSync(join(root, file), 'utf8')));
  for (const { file, line, word, use } of findings) console.log(`${file}:${line}: "${word}": use ${use}`);
  console.log(`words: ${files.length} files, ${findings.length} to replace`);
  return findings.length === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = main(join(import.meta.dirname, '..'));
