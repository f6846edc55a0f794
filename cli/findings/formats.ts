import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { VERSION } from '../../runtime/version.ts';
import { markdownCode, markdownText } from '../markdown.ts';
import { json, printable } from '../rendered.ts';
import { LEVELS, type Finding, type FindingsReport } from './finding.ts';

/** Formats of findings for other tools, by the value of `--format`. */
export const FINDING_FORMATS = {
  sarif: (report) => json(sarif(report)),
  junit,
  github,
  markdown,
} as const satisfies Record<string, (report: FindingsReport) => string>;

/** SARIF 2.1.0 (OASIS), which code scanning of GitHub and others import. */
function sarif({ command, findings }: FindingsReport): object {
  const codes = [...new Map(findings.map((finding) => [finding.code, finding])).values()];
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'platform',
            version: VERSION,
            rules: codes.map(({ code, title, help, severity, references = [] }) => ({
              id: code,
              shortDescription: { text: title },
              help: { text: help || title },
              defaultConfiguration: { level: LEVELS[severity] },
              ...(references.length > 0 && { properties: { tags: references } }),
            })),
          },
        },
        automationDetails: { id: `platform/${command}/` },
        columnKind: 'utf16CodeUnits',
        results: findings.map((finding) => ({
          ruleId: finding.code,
          ruleIndex: codes.findIndex(({ code }) => code === finding.code),
          level: LEVELS[finding.severity],
          message: { text: sentences(finding) },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: uriOf(finding.file) },
                region: { startLine: finding.line, startColumn: finding.column },
              },
            },
          ],
        })),
      },
    ],
  };
}

const sentences = ({ message, help }: Pick<Finding, 'message' | 'help'>): string =>
  help === '' ? message : `${/[.!?]$/.test(message) ? message : `${message}.`} ${help}`;

/** A relative path stays relative to the root of the repository. */
function uriOf(file: string): string {
  if (isAbsolute(file)) return pathToFileURL(file).href;
  return file.replaceAll('\\', '/').split('/').map(encodeURIComponent).join('/');
}

/**
 * JUnit XML: one test case per rule, which fails if the rule has a finding. Its class and name are the same in each run, because CI
 * systems compare runs by them.
 */
function junit({ command, file, findings, passed }: FindingsReport): string {
  const names = unique(findings.map(({ code, item }) => (item === undefined ? code : `${code} ${item}`)));
  const start = (name: string) => `    <testcase name="${xml(name)}" classname="${xml(file)}"`;
  const cases = [
    ...findings.map(
      (finding, index) =>
        `${start(names[index] ?? finding.code)}>\n` +
        `      <failure type="${finding.severity}" message="${xml(finding.message)}">${xml(`${finding.file}:${finding.line}:${finding.column}: ${sentences(finding)}`)}</failure>\n` +
        '    </testcase>\n',
    ),
    ...passed.map((code) => `${start(code)}/>\n`),
  ];
  const counts = `tests="${cases.length}" failures="${findings.length}" errors="0"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    `<testsuites name="platform" ${counts}>\n  <testsuite name="platform ${xml(command)}" ${counts}>\n`,
    ...cases,
    '  </testsuite>\n</testsuites>\n',
  ].join('');
}

/** Equal names get ` #2`, ` #3` and so on. */
function unique(names: readonly string[]): string[] {
  const counts = new Map<string, number>();
  return names.map((name) => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count === 1 ? name : `${name} #${count}`;
  });
}

const XML: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};
/** XML 1.0 allows neither control characters nor lone surrogates, not even escaped. */
const xml = (text: string): string =>
  printable(text.toWellFormed())
    .replaceAll(/[\ufffe\uffff]/g, '\ufffd')
    .replaceAll(/[&<>"']/g, (character) => XML[character] ?? '');

/** Workflow commands of GitHub Actions, which annotate the changed lines of a pull request. */
function github({ findings }: FindingsReport): string {
  const kinds = { error: 'error', warning: 'warning', note: 'notice' } as const;
  return findings
    .map((finding) => {
      const { code, file, line, column, severity } = finding;
      const properties = Object.entries({ file, line, col: column, title: code }).map(
        ([name, value]) =>
          `${name}=${commandText(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`,
      );
      return `::${kinds[LEVELS[severity]]} ${properties.join(',')}::${commandText(sentences(finding))}\n`;
    })
    .join('');
}

const commandText = (text: string): string =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

/** A section for the description of a pull request or the summary of a job. */
function markdown({ command, summary, findings }: FindingsReport): string {
  const heading = `### platform ${command}\n\n${markdownText(summary)}\n`;
  if (findings.length === 0) return `${heading}\nNo findings.\n`;
  const rows = findings.map(
    ({ severity, code, message, help, file, line }) =>
      `| ${severity} | ${markdownCode(code)} | ${markdownCode(`${file}:${line}`)} | ${markdownText(sentences({ message, help }))} |\n`,
  );
  return `${heading}\n| Severity | Code | Position | Finding |\n|---|---|---|---|\n${rows.join('')}`;
}
