import { readFile } from 'node:fs/promises';
import { stopDirective } from '../../core/shapes/agent-stop.ts';
import { sentDirective } from '../../core/shapes/directive.ts';
import { flag, nullable, parseWith } from '../../core/shapes/field.ts';
import { object, type TypeOf } from '../../core/shapes/object.ts';
import { isRecord, jsonOf } from '../../core/untrusted/fields.ts';
import { replaceFile } from '../../push/replace-file.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';

const kept = object('What a restarted sidecar must know before it opens its ports.', {
  opened: flag('The organisation has allowed the start of the pod.'),
  stop: nullable(stopDirective),
  organisation: nullable(sentDirective),
});

export interface KeptDirectives extends TypeOf<typeof kept> {}

const NOTHING: KeptDirectives = { opened: false, stop: null, organisation: null };

/** What is used of a file that is not valid as a whole: rules of another version must not lift a stop. */
function stopOnly(value: unknown): KeptDirectives {
  const parsed = parseWith(nullable(stopDirective), isRecord(value) ? value['stop'] : null);
  return { ...NOTHING, stop: parsed.ok ? parsed.value : null };
}

/** The last directives of the control plane, in a file that outlives the process. */
export class DirectiveStore {
  readonly #path: string | null;
  readonly #logger: Pick<Logger, 'error'>;
  #kept: KeptDirectives;
  #stored: string;
  #isWriting = false;

  private constructor(path: string | null, logger: Pick<Logger, 'error'>, found: KeptDirectives) {
    this.#path = path;
    this.#logger = logger;
    this.#kept = found;
    this.#stored = JSON.stringify(found);
  }

  /**
   * Reads the file. A file that cannot be read is ignored: the agent must not stay down because of a damaged disk, and the control plane
   * sends the directives again.
   * @param path null: the directives are in memory only
   */
  static async open(path: string | null, logger: Pick<Logger, 'error'>): Promise<DirectiveStore> {
    return new DirectiveStore(path, logger, path === null ? NOTHING : await read(path, logger));
  }

  get kept(): Readonly<KeptDirectives> {
    return this.#kept;
  }

  /** Stores changed members, soon. */
  update(changed: Partial<KeptDirectives>): void {
    this.#kept = { ...this.#kept, ...changed };
    if (this.#path !== null && !this.#isWriting) void this.#write(this.#path);
  }

  async #write(path: string): Promise<void> {
    this.#isWriting = true;
    for (let text = ''; (text = JSON.stringify(this.#kept)) !== this.#stored;) {
      try {
        await replaceFile(path, text, 0o600);
        this.#stored = text;
      } catch (error) {
        const fields = { path, error: describeError(error) };
        this.#logger.error('failed to store directives, a restart applies earlier ones', fields);
        break;
      }
    }
    this.#isWriting = false;
  }
}

async function read(path: string, logger: Pick<Logger, 'error'>): Promise<KeptDirectives> {
  let problem: string;
  let value: unknown = null;
  try {
    value = jsonOf(await readFile(path, 'utf8'));
    const parsed = parseWith(kept, value);
    if (parsed.ok) return parsed.value;
    const [first] = parsed.errors;
    problem = `${first?.path ?? ''} ${first?.message ?? ''}`.trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NOTHING;
    problem = describeError(error);
  }
  logger.error('stored directives ignored', { path, problem });
  return stopOnly(value);
}
