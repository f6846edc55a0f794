import type { KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { ChainReport } from '../../core/record/chain.ts';
import {
  envelope,
  evidenceStatement,
  sigstoreBundle,
  verifiedEvidence,
  type Envelope,
  type EvidenceStatement,
  type VerifiedEvidence,
} from '../../core/shapes/attestation.ts';
import { parseWith, type Field } from '../../core/shapes/field.ts';
import { jsonOf } from '../../core/untrusted/fields.ts';
import { notFound, type Found } from '../admin-key.ts';
import type { CliContext } from '../context.ts';
import { readCauseOf } from '../file-failure.ts';
import type { FormatFlags } from '../output-options.ts';
import { printable, printableLines, refusal, reported, type Rendered } from '../rendered.ts';
import { FILES } from './make-evidence.ts';
import { readLogs, sha256 } from './read-log.ts';
import { isSigned, keyidOf, verificationKey } from './sign.ts';

export interface VerifyFlags extends FormatFlags {
  /** File with the public key, as typed. */
  pub: string;
  log?: string[];
}

interface Verification {
  verified: boolean;
  agent: VerifiedEvidence['agent'] | null;
  range: VerifiedEvidence['range'] | null;
  keyid: string;
  problems: string[];
  files: { name: string; verified: boolean }[];
  /** null: no log file was given. */
  log: Pick<ChainReport, 'lines' | 'chains' | 'absent'> | null;
  notIncluded: VerifiedEvidence['notIncluded'];
}

/** `platform evidence verify`. */
export async function verifyEvidence(
  directory: string,
  flags: VerifyFlags,
  context: CliContext,
): Promise<Rendered> {
  const fail = (reason: string) => refusal(printableLines(reason), flags.json);
  const root = resolve(context.cwd, directory);
  const pem = await contentOf(resolve(context.cwd, flags.pub), flags.pub);
  if (!pem.ok) return fail(pem.reason);
  const key = verificationKey(pem.value.toString('utf8'), flags.pub);
  if (!key.ok) return fail(key.reason);
  const signed = await signedStatement(root, key.value);
  if (!signed.ok) return fail(signed.reason);
  const { files, problems } = await comparedFiles(root, signed.value);
  const evidence = await parsedFile(join(root, FILES.json), FILES.json, verifiedEvidence);
  if (!evidence.ok) problems.push(evidence.reason);
  const isGenuine = files.some(({ name, verified }) => name === FILES.json && verified);
  const known = evidence.ok && isGenuine ? evidence.value : null;
  const log = known && flags.log ? await comparedLog(known, flags.log, context) : null;
  if (log?.ok === false) return fail(log.reason);
  problems.push(...(log?.value.findings ?? []).map(({ line, message }) => `log line ${line}: ${message}`));
  const result: Verification = {
    verified: problems.length === 0,
    ...{ agent: known?.agent ?? null, range: known?.range ?? null, keyid: keyidOf(key.value) },
    ...{ problems, files },
    log: log && { lines: log.value.lines, chains: log.value.chains, absent: log.value.absent },
    notIncluded: known?.notIncluded ?? [],
  };
  return reported(flags, result, textOf(result), result.verified ? 0 : 1);
}

async function contentOf(path: string, shown: string): Promise<Found<Buffer>> {
  try {
    return { ok: true, value: await readFile(path) };
  } catch (error) {
    return notFound(`cannot read ${shown}: ${readCauseOf(error)}`);
  }
}

async function parsedFile<T>(path: string, shown: string, field: Field<T>): Promise<Found<T>> {
  const content = await contentOf(path, shown);
  if (!content.ok) return content;
  const parsed = parseWith(field, jsonOf(content.value.toString('utf8')));
  if (parsed.ok) return { ok: true, value: parsed.value };
  const [first] = parsed.errors;
  return notFound(`${shown} is not valid: ${first?.path ?? ''} ${first?.message ?? ''}`);
}

/** The statement, if the key has signed it in both files. */
async function signedStatement(root: string, key: KeyObject): Promise<Found<EvidenceStatement>> {
  const dsse = await parsedFile(join(root, FILES.dsse), FILES.dsse, envelope);
  if (!dsse.ok) return dsse;
  const bundle = await parsedFile(join(root, FILES.sigstore), FILES.sigstore, sigstoreBundle);
  if (!bundle.ok) return bundle;
  const forms: [string, Envelope][] = [
    [FILES.dsse, dsse.value],
    [FILES.sigstore, bundle.value.dsseEnvelope],
  ];
  for (const [name, each] of forms)
    if (!isSigned(each, key)) return notFound(`${name} is not signed with this key, or was changed`);
  if (dsse.value.payload !== bundle.value.dsseEnvelope.payload)
    return notFound(`${FILES.dsse} and ${FILES.sigstore} are of different bundles`);
  const statement = parseWith(
    evidenceStatement,
    jsonOf(Buffer.from(dsse.value.payload, 'base64').toString('utf8')),
  );
  if (statement.ok) return { ok: true, value: statement.value };
  const [first] = statement.errors;
  return notFound(`${FILES.dsse} is signed, but not a bundle: ${first?.path ?? ''} ${first?.message ?? ''}`);
}

async function comparedFiles(root: string, { subject }: EvidenceStatement) {
  const problems: string[] = [];
  const files: Verification['files'] = [];
  for (const { name, digest } of subject) {
    const content = await contentOf(join(root, name), name);
    const verified = content.ok && sha256(content.value) === digest.sha256;
    files.push({ name, verified });
    if (!verified) problems.push(content.ok ? `${name} was changed after it was signed` : content.reason);
  }
  for (const name of [FILES.json, FILES.page])
    if (!subject.some((each) => each.name === name)) problems.push(`the signature does not cover ${name}`);
  return { files, problems };
}

/** The chains of the files, compared with the heads of the bundle. */
async function comparedLog(
  { auditLog }: VerifiedEvidence,
  names: readonly string[],
  { cwd }: CliContext,
): Promise<Found<ChainReport>> {
  const read = await readLogs(names, { cwd, heads: auditLog.heads });
  return read.ok ? { ok: true, value: read.value.chain } : read;
}

function textOf({ verified, agent, range, keyid, problems, files, log, notIncluded }: Verification): string {
  const name =
    agent === null ? '' : ` of ${agent.namespace === null ? '' : `${agent.namespace}/`}${agent.name}`;
  const days = range === null ? '' : `, from ${range.from} to ${range.to}`;
  const compared = (log?.chains ?? []).reduce((sum, { heads }) => sum + heads, 0);
  const lines = [
    `${verified ? 'verified' : 'NOT verified'}: evidence${name}${days}`,
    `key: ${keyid}`,
    ...files.map((file) => `${file.name}: ${file.verified ? 'as signed' : 'differs'}`),
    ...(log === null ? [] : [`log: ${log.lines} lines, ${compared} chain heads compared`]),
    ...(log?.absent ?? []).map((chain) => `no line of the chain ${chain}, of which a head is known`),
    ...problems.map((problem) => `problem: ${problem}`),
    ...notIncluded.map(({ part, reason }) => `not included: ${part}: ${reason}`),
  ];
  return lines.map((line) => `${printable(line)}\n`).join('');
}
