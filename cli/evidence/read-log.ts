import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { ReadFile } from '../../authoring/evidence/bundle.ts';
import { canonicalJson } from '../../core/record/canonical.ts';
import { ChainVerifier, type ChainHead, type ChainReport } from '../../core/record/chain.ts';
import { parseLine } from '../../core/record/columns.ts';
import { chainOfUid } from '../../core/record/record-event.ts';
import type { AuditEvent } from '../../core/shapes/audit-event.ts';
import { jsonOf } from '../../core/untrusted/fields.ts';
import { notFound, type Found } from '../admin-key.ts';
import { readCauseOf } from '../file-failure.ts';
import { printable } from '../rendered.ts';

/** Longer lines are not lines of the audit log, which have at most 8,000 bytes. */
const MAX_LINE = 1024 * 1024;

export interface LogFiles {
  files: ReadFile[];
  chain: ChainReport;
  /** The last line of each chain. */
  ends: ChainHead[];
}

export const sha256 = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('hex');

/**
 * Reads log files, the oldest first, verifies their chains and passes every valid event on.
 * @param onEvent called with each event, in the order of the files
 */
export async function readLogs(
  names: readonly string[],
  {
    cwd,
    heads,
    onEvent,
  }: { cwd: string; heads: readonly ChainHead[]; onEvent?: (event: AuditEvent) => void },
): Promise<Found<LogFiles>> {
  const verifier = new ChainVerifier(sha256, heads);
  const lasts = new Map<string, { sequence: number; line: string }>();
  const files: ReadFile[] = [];
  for (const name of names) {
    const hash = createHash('sha256');
    let lines = 0;
    try {
      for await (const { line, isComplete } of linesOf(resolve(cwd, name), hash)) {
        lines += 1;
        verifier.add(line, isComplete);
        const parsed = parseLine(line);
        if (!parsed.ok || !isComplete) continue;
        const { uid, sequence } = parsed.event.metadata;
        lasts.set(chainOfUid(uid), { sequence, line });
        onEvent?.(parsed.event);
      }
    } catch (error) {
      return notFound(`cannot read ${printable(name)}: ${readCauseOf(error)}`);
    }
    files.push({ name: basename(name), sha256: hash.digest('hex'), lines });
  }
  const ends = [...lasts].map(([chain, { sequence, line }]) => ({
    ...{ chain, sequence, head: sha256(canonicalJson(jsonOf(line))) },
  }));
  return { ok: true, value: { files, chain: verifier.report(), ends } };
}

/** The lines of a file, which may be a pipe. A part of a line that is too long is a line of its own. */
async function* linesOf(path: string, hash: { update(chunk: Buffer): unknown }) {
  await using file = await open(path, 'r');
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of file.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) yield { line, isComplete: true };
    if (rest.length > MAX_LINE) {
      yield { line: rest, isComplete: true };
      rest = '';
    }
  }
  rest += decoder.decode();
  if (rest !== '') yield { line: rest, isComplete: false };
}
