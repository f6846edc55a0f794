import { appendFile, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RecordLines } from '../../core/record/line.ts';
import { NO_LINE, type RecordEvent, type RecordSource } from '../../core/record/record-event.ts';
import { sampleEvents, SAMPLE_SOURCE } from './sample-events.ts';

/** Makes the lines of one chain. */
export function lineMaker(changed: Partial<RecordSource> = {}): (event: RecordEvent) => string {
  const source = { ...SAMPLE_SOURCE, ...changed };
  const lines = new RecordLines({ source, hintsOf: () => undefined, hostOf: () => 'api.openai.com' });
  let sequence = 0;
  return (event) => lines.line(event, { sequence: (sequence += 1), prev: NO_LINE });
}

/** The files of a record in a folder of their own, written and rotated like those of a sidecar. */
export class RecordFiles {
  readonly folder: string;
  readonly path: string;
  /** Files that are kept, with the newest one. */
  readonly #kept: number;
  #line = lineMaker();

  private constructor(folder: string, kept: number) {
    this.folder = folder;
    this.path = join(folder, 'audit.jsonl');
    this.#kept = kept;
  }

  static async open(kept = 3): Promise<RecordFiles> {
    return new RecordFiles(await mkdtemp(join(tmpdir(), 'agent-compliance-record-')), kept);
  }

  /** Appends lines, by default denied requests. */
  async write(count: number, event: RecordEvent = sampleEvents().deniedWithoutIdentity): Promise<void> {
    for (let each = 0; each < count; each += 1) await this.append(`${this.#line(event)}\n`);
  }

  append(text: string): Promise<void> {
    return appendFile(this.path, text);
  }

  async rotate(): Promise<void> {
    const nameOf = (index: number): string => (index === 0 ? this.path : `${this.path}.${index}`);
    await rm(nameOf(this.#kept - 1), { force: true });
    for (let index = this.#kept - 1; index > 0; index -= 1)
      await rename(nameOf(index - 1), nameOf(index)).catch(() => undefined);
  }

  /** Another process writes the next lines. */
  newChain(): void {
    this.#line = lineMaker({ startedAt: SAMPLE_SOURCE.startedAt + 1 });
  }

  close(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}
