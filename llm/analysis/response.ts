import { SEVERITIES } from '../../core/shapes/values.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import { isRecord, own } from '../../core/untrusted/fields.ts';
import { cleanText } from './analysis.ts';

export const MAX_ANALYSIS_ISSUES = 10;
/** Entries that are read. */
const MAX_ENTRIES = 100;
/** UTF-16 units per text of an issue, as for all other issues. */
const MAX_TEXT = 500;

/** The schema of the response, in the subset of JSON Schema that vendors accept. `issuesIn` also checks lengths, counts and paths. */
export const RESPONSE_SCHEMA = {
  name: 'gap_analysis',
  schema: {
    type: 'object',
    additionalProperties: false,
    required: ['issues'],
    properties: {
      issues: {
        type: 'array',
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['severity', 'property', 'description', 'recommendation'],
          properties: {
            severity: { type: 'string', enum: SEVERITIES },
            property: { type: 'string' },
            description: { type: 'string' },
            recommendation: { type: 'string' },
          },
        },
      },
    },
  },
} as const;

type IssuesResult = { ok: true; value: Issue[] } | { ok: false; reason: string };

/**
 * The issues of a response, worst first, at most one per property. Whatever the response contains, the result is only issues
 * with `source: llm`, one of four severities, a path of `properties` and two short texts. Other entries are dropped.
 */
export function issuesIn(response: unknown, properties: ReadonlySet<string>): IssuesResult {
  const entries = isRecord(response) ? own(response, 'issues') : undefined;
  if (!Array.isArray(entries))
    return { ok: false, reason: 'the response of the model has no list of issues' };
  const issues = (entries as unknown[])
    .slice(0, MAX_ENTRIES)
    .flatMap((entry) => issueOf(entry, properties) ?? []);
  if (issues.length === 0 && entries.length > 0)
    return { ok: false, reason: 'the response of the model has no valid issue' };
  const byProperty = new Map<string, Issue>();
  for (const severity of SEVERITIES)
    for (const issue of issues)
      if (issue.severity === severity && !byProperty.has(issue.property))
        byProperty.set(issue.property, issue);
  return { ok: true, value: [...byProperty.values()].slice(0, MAX_ANALYSIS_ISSUES) };
}

function issueOf(entry: unknown, properties: ReadonlySet<string>): Issue | null {
  if (!isRecord(entry)) return null;
  const severity = SEVERITIES.find((each) => each === own(entry, 'severity'));
  const [property, description, recommendation] = ['property', 'description', 'recommendation'].map(
    (name) => {
      const value = own(entry, name);
      return typeof value === 'string' ? cleanText(value, MAX_TEXT) : '';
    },
  );
  if (severity === undefined || !property || !properties.has(property)) return null;
  if (!description || !recommendation) return null;
  return { severity, property, description, recommendation, source: 'llm' };
}
