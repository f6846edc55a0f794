import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  judgeResults,
  limitsOf,
  type Limits,
  type RuleResult,
} from '../../authoring/import-results/judge-results.ts';
import { readResults } from '../../authoring/import-results/read-results.ts';
import { notRead, type TestResults } from '../../authoring/import-results/results.ts';
import type { InForce } from '../../core/evidence/stale-proofs.ts';
import { isoTime, parseWith } from '../../core/shapes/field.ts';
import type { BoundTo, ProofSubmission } from '../../core/shapes/proof.ts';
import type { ExternalTool } from '../../core/shapes/values.ts';
import { cut, isRecord, own } from '../../core/untrusted/fields.ts';
import { present } from '../../core/untrusted/present.ts';
import { inForceOf } from '../../probe/in-force.ts';
import type { LoadedManifest } from '../../runtime/manifest-file.ts';
import { readCauseOf } from '../file-failure.ts';
import { postProof } from '../post-proof.ts';
import { proofTarget, type ProofReceiver } from '../proof-target.ts';
import { printable } from '../rendered.ts';
import { decodeText } from '../source-files.ts';

const MAX_FILE_BYTES = 256 * 1024 * 1024;
const DAY_MS = 86_400_000;

/** The results of one file, judged. */
export interface ImportedFile {
  /** Path as typed. */
  file: string;
  tool: string;
  rules: RuleResult[];
  ignored: string[];
}

/** One proof, as it is written. */
export interface ImportedProof {
  ruleId: string;
  submission: ProofSubmission;
  /** URL that stored it; null: not stored. */
  receiver: string | null;
  isStale: boolean;
}

export interface ImportReport {
  files: ImportedFile[];
  proofs: ImportedProof[];
  /** Why a file or a rule has no proof, or why a proof was not stored. */
  problems: string[];
}

export interface ImportInput {
  files: readonly string[];
  cwd: string;
  manifest: LoadedManifest & { ok: true };
  /** Path of the manifest, as typed. */
  manifestFile: string;
  from: ExternalTool | undefined;
  /** The rule that all tests show. */
  rule: string | undefined;
  /** null: nothing is written. */
  receiver: ProofReceiver | null;
  now: Date;
}

interface Read {
  file: string;
  sha256: string;
  results: TestResults;
  limits: Limits;
  rules: RuleResult[];
}

/** Judges the results of test tools and writes one proof per rule whose tests passed in every file. Never rejects. */
export async function importProofs(input: ImportInput): Promise<ImportReport> {
  const problems: string[] = [];
  const read: Read[] = [];
  const files: ImportedFile[] = [];
  for (const file of new Set(input.files)) {
    const found = await readFileOf(file, input);
    if (!found.ok) {
      problems.push(`${printable(file)}: ${printable(found.reason)}`);
      continue;
    }
    const { rules, ignored } = judgeResults(found.results, found.limits, input.rule);
    read.push({ ...found, file, rules });
    files.push({ file, tool: toolText(found.results), rules, ignored });
    if (rules.length === 0) problems.push(`${printable(file)}: no test that shows a rule ran`);
    for (const { ruleId, refused } of rules)
      if (refused !== null) problems.push(`${printable(file)}: no proof of ${ruleId}: ${refused}`);
  }
  const boundTo = await boundToOf(input);
  const proofs = proofsOf(read, boundTo, input.now);
  if (input.receiver !== null)
    for (const proof of proofs) await store(proof, input.receiver, { input, problems });
  return { files, proofs, problems };
}

async function readFileOf(file: string, { cwd, from, rule, manifest }: ImportInput) {
  let content: Buffer;
  try {
    const path = resolve(cwd, file);
    if ((await stat(path)).size > MAX_FILE_BYTES)
      return notRead(`is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`);
    content = await readFile(path);
  } catch (error) {
    return notRead(readCauseOf(error));
  }
  const read = readResults(decodeText(content), from);
  if (!read.ok) return read;
  if (read.form === 'sarif' && rule === undefined)
    return notRead('a SARIF file does not name the rule that it shows: use --rule');
  const sha256 = createHash('sha256').update(content).digest('hex');
  const limits = limitsOf(manifest.manifest.spec, read.form ?? 'sarif');
  return { ok: true as const, results: read.results, sha256, limits };
}

/** What the tests ran with, as far as it can be read here. */
async function boundToOf({ manifest, manifestFile, cwd, now }: ImportInput): Promise<BoundTo> {
  const inForce: InForce = await inForceOf({
    manifest: manifest.manifest,
    hash: manifest.hash,
    sources: { env: null, folder: dirname(resolve(cwd, manifestFile)), secretDir: null, now: () => now },
    isShared: true,
  });
  return present(inForce);
}

/** One proof per rule. The rule must have passed in every file; the file with the most tests is the source. */
function proofsOf(read: readonly Read[], boundTo: BoundTo, now: Date): ImportedProof[] {
  const ruleIds = [...new Set(read.flatMap(({ rules }) => rules.map(({ ruleId }) => ruleId)))].sort();
  return ruleIds.flatMap((ruleId) => {
    const all = read.flatMap((each) => {
      const rule = each.rules.find((one) => one.ruleId === ruleId);
      return rule === undefined ? [] : [{ ...each, rule }];
    });
    const [most] = all.toSorted((a, b) => b.rule.run - a.rule.run);
    if (most === undefined || all.some(({ rule }) => rule.refused !== null)) return [];
    const { results, rule, sha256 } = most;
    const expiresDays = Math.min(...all.map(({ limits }) => limits.expiresDays));
    const { run, passed, failed } = rule;
    const submission: ProofSubmission = {
      verifiedBy: toolText(results),
      method: cut(all.map(methodOf).join(' '), 2_048),
      expiresAt: new Date(now.getTime() + expiresDays * DAY_MS).toISOString(),
      source: {
        ...{ tool: results.tool, fileSha256: sha256, run, passed, failed, errors: 0 as const },
        ...present({
          toolVersion: textOf(results.toolVersion, 100),
          startedAt: timeOf(results.startedAt),
          judge: textOf(results.judge, 500),
        }),
      },
      boundTo,
    };
    return [{ ruleId, submission, receiver: null, isStale: false }];
  });
}

const toolText = ({ tool, toolVersion = '' }: TestResults): string =>
  cut(`${tool} ${toolVersion}`.trim(), 200);

function methodOf({ results, rule }: { results: TestResults; rule: RuleResult }): string {
  const names = rule.names.length === 0 ? '' : ` (${rule.names.join(', ')})`;
  return `${toolText(results)}: ${rule.passed} of ${rule.run} tests passed${names}.`;
}

const textOf = (text: string | undefined, max: number): string | undefined =>
  text === undefined || text.trim() === '' ? undefined : cut(text, max);

/** A time without a time zone is not known. */
function timeOf(text: string | undefined): string | undefined {
  const parsed = parseWith(isoTime(''), text);
  return parsed.ok ? parsed.value : undefined;
}

async function store(
  proof: ImportedProof,
  receiver: ProofReceiver,
  { input, problems }: { input: ImportInput; problems: string[] },
): Promise<void> {
  const target = proofTarget(input.manifest.manifest.metadata.name, proof.ruleId, receiver);
  const posted = 'reason' in target ? notRead(target.reason) : await postProof(target, proof.submission);
  if (!posted.ok) {
    problems.push(printable(posted.reason));
    return;
  }
  proof.receiver = posted.receiver;
  proof.isStale = isRecord(posted.record) && own(posted.record, 'state') === 'stale';
}
