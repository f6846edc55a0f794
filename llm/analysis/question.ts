import { indexById } from '../../authoring/diff/changes.ts';
import type { Facts } from '../../core/facts/facts.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import { sourceOf } from '../../core/gap/rules.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { cut, isRecord, own } from '../../core/untrusted/fields.ts';
import { cleanText } from './analysis.ts';
import { SENT_FIELDS, type SentShape } from './sent-fields.ts';

/**
 * What the LLM receives about one agent. The same manifest and the same relevant facts always give the same texts, so a hash of
 * them is the key of the cache. They contain no times, latencies and rates, and agents cannot change them by the order of a list.
 */
export interface Question {
  /** One line per field of the manifest: `spec.tools[pay].type = "function"`. */
  manifest: string;
  /** One line per fact. */
  report: string;
  /** The properties that an issue of the response may have: paths of this manifest, and sections that it may lack. */
  properties: ReadonlySet<string>;
}

const MAX_TEXT = 300;
const MAX_NAME = 100;
/** Items per list. */
const MAX_ITEMS = 100;
/** Characters of the manifest's lines; about 15,000 tokens. */
const MAX_CHARACTERS = 60_000;

/** @param issues the issues of the gap rules, which the LLM is not asked to repeat */
export function questionOf(manifest: Manifest, facts: Facts, issues: readonly Issue[]): Question {
  const properties = new Set<string>(sectionsOf(SENT_FIELDS, ''));
  const lines = linesOf(sentPart(manifest, SENT_FIELDS), '', properties);
  return { manifest: withinLimit(lines).join('\n'), report: reportOf(facts, issues), properties };
}

/** The paths of all objects and lists of the table. */
function sectionsOf(shape: SentShape, path: string): string[] {
  if (typeof shape === 'string' || shape === true) return [];
  const inside = Object.entries(shape).flatMap(([name, member]) =>
    member === undefined ? [] : sectionsOf(member, path === '' ? name : `${path}.${name}`),
  );
  return path === '' ? inside : [path, ...inside];
}

/** A copy that contains only what the table allows; undefined: nothing. */
function sentPart(value: unknown, shape: SentShape): unknown {
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item: unknown) => sentPart(item, shape));
  if (isRecord(value)) {
    if (shape === true) return undefined;
    const members: [string, SentShape | undefined][] =
      shape === 'values'
        ? Object.keys(value)
            .slice(0, MAX_ITEMS)
            .map((name) => [name, true])
        : Object.entries(shape);
    return Object.fromEntries(
      members.flatMap(([name, inside]) => {
        const part = inside === undefined ? undefined : sentPart(own(value, name), inside);
        return part === undefined ? [] : [[cleanText(name, MAX_NAME), part]];
      }),
    );
  }
  if (shape !== true) return undefined;
  return typeof value === 'string' ? cleanText(value, MAX_TEXT) : value;
}

/** The fields as lines; adds their paths and those of everything around them to `properties`. */
function linesOf(value: unknown, path: string, properties: Set<string>): string[] {
  if (path !== '') properties.add(path);
  if (Array.isArray(value) && value.some(isRecord))
    return [...indexById(value)].flatMap(([id, index]) =>
      linesOf(value[index], `${path}[${cut(id, MAX_NAME)}]`, properties),
    );
  if (isRecord(value))
    return Object.entries(value).flatMap(([name, member]) =>
      linesOf(member, path === '' ? name : `${path}.${name}`, properties),
    );
  return [`${path} = ${JSON.stringify(value)}`];
}

function withinLimit(lines: readonly string[]): string[] {
  let characters = 0;
  const kept = lines.filter((line) => (characters += line.length + 1) <= MAX_CHARACTERS);
  return kept.length === lines.length ? kept : [...kept, `(${lines.length - kept.length} more fields)`];
}

function reportOf(facts: Facts, issues: readonly Issue[]): string {
  const { agentReport, capabilities, agentCard, behavior } = facts;
  const listed = [...(capabilities?.tools ?? []), ...(agentCard?.tools ?? [])];
  return [
    `source = ${sourceOf(facts)}`,
    `issues that rules have found = ${namesOf(issues.map(({ property }) => property))}`,
    `tools that the agent lists = ${namesOf(listed)}`,
    `checks that the agent reports = ${namesOf((agentReport?.checks ?? []).map(({ id }) => id))}`,
    `guardrails that the agent reports = ${namesOf([...behavior.guardrailsInvoked.keys()])}`,
  ].join('\n');
}

/** Sorted and without repetitions, so that the order of an agent's list is not a change. */
function namesOf(names: readonly string[]): string {
  const unique = new Set(names.map((name) => cleanText(name, MAX_NAME)).filter((name) => name !== ''));
  return JSON.stringify([...unique].sort().slice(0, MAX_ITEMS));
}
