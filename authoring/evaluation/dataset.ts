import { isRecord, jsonOf } from '../../core/untrusted/fields.ts';

/** One line of a dataset. */
export interface Sample {
  /** 1-based. */
  line: number;
  /** Sent as the user message. */
  input: string;
  /** The sample passes if the response contains this text, in upper or lower case. */
  expected: string;
  tags: readonly string[];
}

/** A line that is not a sample; line and column are 1-based. */
export interface DatasetProblem {
  line: number;
  column: number;
  message: string;
}

export type ParsedDataset =
  | { ok: true; samples: Sample[] }
  /** At most `MAX_PROBLEMS`. */
  | { ok: false; problems: DatasetProblem[] };

const MAX_PROBLEMS = 20;

/** Parses JSON lines `{input, expected, tags?}`. Empty lines and other members are ignored. */
export function parseDataset(text: string): ParsedDataset {
  const samples: Sample[] = [];
  const problems: DatasetProblem[] = [];
  for (const [index, source] of text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    if (source.trim() === '') continue;
    const parsed = parseLine(source, index + 1);
    if ('message' in parsed) problems.push(parsed);
    else samples.push(parsed);
    if (problems.length === MAX_PROBLEMS) break;
  }
  if (problems.length > 0) return { ok: false, problems };
  if (samples.length === 0)
    return { ok: false, problems: [{ line: 1, column: 1, message: 'the dataset has no sample' }] };
  return { ok: true, samples };
}

function parseLine(source: string, line: number): Sample | DatasetProblem {
  const value = jsonOf(source);
  const start = source.length - source.trimStart().length + 1;
  if (value === undefined) return { line, column: start, message: 'is not valid JSON' };
  const at = (key: string) => Math.max(source.indexOf(JSON.stringify(key)) + 1, start);
  if (!isRecord(value)) return { line, column: start, message: 'must be an object with input and expected' };
  const { input, expected, tags = [] } = value;
  if (typeof input !== 'string' || input === '')
    return { line, column: at('input'), message: 'input must be a text that is not empty' };
  if (typeof expected !== 'string' || expected === '')
    return { line, column: at('expected'), message: 'expected must be a text that is not empty' };
  if (!Array.isArray(tags) || !tags.every((tag): tag is string => typeof tag === 'string'))
    return { line, column: at('tags'), message: 'tags must be a list of texts' };
  return { line, input, expected, tags };
}

/** Samples with the tag (null: all), at most `size` (null: all) of them, spread evenly over the dataset. */
export function selectSamples(
  samples: readonly Sample[],
  { tag, size }: { tag: string | null; size: number | null },
): Sample[] {
  const tagged = tag === null ? samples : samples.filter(({ tags }) => tags.includes(tag));
  if (size === null || size >= tagged.length) return [...tagged];
  return Array.from(
    { length: size },
    (_, index) => tagged[Math.floor((index * tagged.length) / size)],
  ).filter((sample) => sample !== undefined);
}
