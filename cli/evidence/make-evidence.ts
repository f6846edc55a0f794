import { createPublicKey, type KeyObject } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  bundleOf,
  statementOf,
  type BundleInputs,
  type EvidenceBundle,
  type NotIncluded,
  type ReadLog,
  type Reported,
} from '../../authoring/evidence/bundle.ts';
import { CONTROL_STATES } from '../../authoring/evidence/controls.ts';
import { LogCounter } from '../../authoring/evidence/log-summary.ts';
import { pageOf } from '../../authoring/evidence/page.ts';
import { rangeOfDays, type EvidenceRange } from '../../authoring/evidence/range.ts';
import { KEY, literalSecrets } from '../../core/manifest/literal-secrets.ts';
import { VERSION } from '../../runtime/version.ts';
import { notFound, type Found } from '../admin-key.ts';
import type { CliContext } from '../context.ts';
import { credentialHeader, readCa, warnPlain } from '../control-plane-access.ts';
import { createFile } from '../create-file.ts';
import { causeOf, exists, readCauseOf } from '../file-failure.ts';
import { load } from '../load.ts';
import { makeDirectory } from '../make-directory.ts';
import { defaultManifest } from '../manifest-argument.ts';
import type { FormatFlags } from '../output-options.ts';
import { printable, printableLines, refusal, reported as renderReport, type Rendered } from '../rendered.ts';
import { reportedByControlPlane } from './control-plane.ts';
import { readLogs, sha256 } from './read-log.ts';
import { keyidOf, PASSPHRASE_VARIABLE, signingKey, signStatement } from './sign.ts';
import { reportedBySidecar } from './sidecar.ts';

export interface EvidenceFlags extends FormatFlags {
  agent: string;
  namespace?: string;
  /** Start of the first and of the last day, in epoch milliseconds. */
  from: number;
  to: number;
  /** Directory, as typed. */
  out: string;
  manifest?: string;
  url?: URL;
  sidecar?: URL;
  ca?: string;
  adminKeyFile?: string;
  log: string[];
  key?: string;
}

/** Names of the files of a bundle. */
export const FILES = {
  json: 'evidence.json',
  page: 'evidence.html',
  dsse: 'evidence.dsse.json',
  sigstore: 'evidence.sigstore.json',
} as const;

type Read = Pick<BundleInputs, 'manifest' | 'notIncluded'>;

/** `platform evidence`. Everything is read before the first file is written. */
export async function makeEvidence(flags: EvidenceFlags, context: CliContext): Promise<Rendered> {
  const { agent, namespace = null, from, to, key: keyFile } = flags;
  const fail = (reason: string) => refusal(printableLines(reason), flags.json);
  const directory = resolve(context.cwd, flags.out);
  for (const name of Object.values(FILES))
    if (await exists(join(directory, name)))
      return fail(`${flags.out} already contains ${name}; choose another directory`);
  const key = keyFile === undefined ? null : await keyIn(keyFile, context);
  if (key?.ok === false) return fail(key.reason);
  const manifest = await manifestOf(flags, context);
  if (!manifest.ok) return fail(manifest.reason);
  const range = rangeOfDays(from, to);
  const reported = await reportedAbout(flags, { range, manifest: manifest.value.manifest }, context);
  if (!reported.ok) return fail(reported.reason);
  const home = namespace ?? reported.value?.namespace ?? null;
  const log = await logOf(flags, { range, namespace: home, reported: reported.value }, context);
  if (!log.ok) return fail(log.reason);
  const bundle = bundleOf({
    ...{ agent, namespace: home, range, at: context.now(), version: VERSION },
    ...{ manifest: manifest.value.manifest, reported: reported.value, log: log.value },
    notIncluded: [...manifest.value.notIncluded, ...absentParts(reported.value, log.value)],
  });
  const files = filesOf(bundle, key?.value ?? null);
  const problem = await writeAll(directory, files);
  if (problem !== null) return fail(`cannot write to ${flags.out}: ${problem}`);
  return rendered(bundle, { flags, files, key: key?.value ?? null });
}

async function keyIn(file: string, { cwd, env }: CliContext): Promise<Found<KeyObject>> {
  try {
    return signingKey(await readFile(resolve(cwd, file), 'utf8'), file, env[PASSPHRASE_VARIABLE]);
  } catch (error) {
    return notFound(`cannot read ${file}: ${readCauseOf(error)}`);
  }
}

/** The manifest of the agent. A default manifest of another agent is not included. */
async function manifestOf(
  { agent, manifest: given }: EvidenceFlags,
  context: CliContext,
): Promise<Found<Read>> {
  const file = given ?? (await defaultManifest(context));
  const without = (reason: string): Found<Read> => ({
    ok: true,
    value: { manifest: null, notIncluded: [{ part: 'manifest, and rules that need it', reason }] },
  });
  if (file === null) return without('none was given (--manifest)');
  const loaded = await load(file, context);
  if (!loaded.ok) {
    const [first] = loaded.problems;
    const reason = `${file} is not a valid manifest: ${first?.message ?? ''}`;
    return given === undefined ? without(reason) : notFound(reason);
  }
  const { manifest: value, text, hash } = loaded;
  const { name } = value.metadata;
  if (name !== agent) {
    const reason = `${file} is the manifest of ${name}, not of ${agent}`;
    return given === undefined ? without(reason) : notFound(reason);
  }
  const secrets = literalSecrets(value);
  const isSecret = secrets.length > 0 || KEY.test(text);
  const where = secrets.length === 0 ? '' : `: ${secrets.join(', ')}`;
  const notIncluded = isSecret
    ? [
        {
          part: 'text of the manifest',
          reason: `the file contains a secret${where}; its SHA-256 is included`,
        },
      ]
    : [];
  return {
    ok: true,
    value: { manifest: { value, sha256: hash, text: isSecret ? null : text }, notIncluded },
  };
}

async function reportedAbout(
  flags: EvidenceFlags,
  { range, manifest }: { range: EvidenceRange; manifest: Read['manifest'] },
  context: CliContext,
): Promise<Found<Reported | null>> {
  const { agent, namespace = null, sidecar, url } = flags;
  if (sidecar !== undefined) {
    if (manifest === null) return notFound('--sidecar requires the manifest of the agent (--manifest)');
    return reportedBySidecar(sidecar, manifest.value);
  }
  if (url === undefined) return { ok: true, value: null };
  const credential = await credentialHeader(flags.adminKeyFile, context);
  if (!credential.ok) return credential;
  const ca = await readCa(flags.ca, url, context);
  if (!ca.ok) return ca;
  warnPlain(url, 'the admin key or the token is', context);
  const access = { base: url, headers: credential.value, ca: ca.value };
  return reportedByControlPlane(access, { agent, namespace, range });
}

async function logOf(
  { agent, log }: EvidenceFlags,
  {
    range,
    namespace,
    reported,
  }: { range: EvidenceRange; namespace: string | null; reported: Reported | null },
  { cwd }: CliContext,
): Promise<Found<ReadLog | null>> {
  const counter = new LogCounter(range, agent, namespace);
  if (log.length === 0) return { ok: true, value: null };
  const read = await readLogs(log, {
    ...{ cwd, heads: reported?.heads ?? [] },
    onEvent: (event) => counter.add(event),
  });
  return read.ok ? { ok: true, value: { summary: counter.summary(), ...read.value } } : read;
}

function absentParts(reported: Reported | null, log: ReadLog | null): NotIncluded[] {
  const parts: NotIncluded[] = [];
  if (reported === null)
    parts.push({
      part: 'reports of a control plane or a sidecar',
      reason: 'neither --url nor --sidecar was given',
    });
  if (log === null || log.files.length === 0)
    parts.push({ part: 'verified log files', reason: 'no file was given (--log)' });
  return parts;
}

/** The texts of the files by name. */
function filesOf(bundle: EvidenceBundle, key: KeyObject | null): Record<string, string> {
  const text = `${JSON.stringify(bundle, null, 2)}\n`;
  const digest = sha256(text);
  const page = pageOf(bundle, digest);
  const files = { [FILES.json]: text, [FILES.page]: page };
  if (key === null) return files;
  const statement = statementOf(bundle, { [FILES.json]: digest, [FILES.page]: sha256(page) });
  const { dsse, sigstore } = signStatement(statement, key);
  return {
    ...files,
    [FILES.dsse]: `${JSON.stringify(dsse)}\n`,
    [FILES.sigstore]: `${JSON.stringify(sigstore)}\n`,
  };
}

/** Why not all files could be written, after which none of them exists; null: they are written. */
async function writeAll(directory: string, files: Readonly<Record<string, string>>): Promise<string | null> {
  const created: string[] = [];
  try {
    await makeDirectory(directory);
    for (const [name, text] of Object.entries(files)) {
      await createFile(join(directory, name), text);
      created.push(name);
    }
    return null;
  } catch (error) {
    for (const name of created) await rm(join(directory, name), { force: true });
    return causeOf(error);
  }
}

function rendered(
  { frameworks, notIncluded }: EvidenceBundle,
  {
    flags,
    files,
    key,
  }: { flags: EvidenceFlags; files: Readonly<Record<string, string>>; key: KeyObject | null },
): Rendered {
  const keyid = key === null ? null : keyidOf(createPublicKey(key));
  const controls = Object.fromEntries(
    CONTROL_STATES.map((state) => [state, frameworks.reduce((sum, { counts }) => sum + counts[state], 0)]),
  );
  const hashes = Object.fromEntries(Object.entries(files).map(([name, text]) => [name, sha256(text)]));
  const lines = [
    `wrote ${Object.keys(files).join(', ')} to ${printable(flags.out)}`,
    keyid === null ? 'not signed: pass --key to sign the bundle' : `signed with the key ${keyid}`,
    `controls: ${Object.entries(controls)
      .map(([state, count]) => `${count} ${state}`)
      .join(', ')}`,
    ...notIncluded.map(({ part, reason }) => printable(`not included: ${part}: ${reason}`)),
  ];
  const report = { directory: flags.out, files: hashes, keyid, controls, notIncluded };
  return renderReport(flags, report, lines.map((line) => `${line}\n`).join(''));
}
