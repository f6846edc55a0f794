import { createHash } from 'node:crypto';
import {
  manifestJudgement,
  type NotJudged,
  type OrganisationFinding,
} from '../../core/shapes/organisation.ts';
import { sentDirective } from '../../core/shapes/directive.ts';
import { parseWith } from '../../core/shapes/field.ts';
import type { TypeOf } from '../../core/shapes/object.ts';
import { isRecord, jsonOf } from '../../core/untrusted/fields.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { SidecarConfig } from '../config.ts';
import type { DirectiveStore } from '../stop/directive-store.ts';
import type { CurrentManifest, ValidManifest } from '../manifest/current-manifest.ts';

/** The control plane has this long to judge the manifest before the agent starts without a judgement. */
const KNOWN_WITHIN_MS = 5_000;
const RETRY_SOON_MS = 500;
const RETRY_MS = 10_000;

type SentDirective = TypeOf<typeof sentDirective>;

/** Sends a manifest to the control plane: the status and body of the response, or why there is none. */
export type PutManifest = (
  text: string,
  signal: AbortSignal,
) => Promise<{ status: number; body: string } | { reason: string }>;

/** Whether the pod may start. `judging`: not known yet. */
export type StartState = 'judging' | 'not-allowed' | 'open';

export interface OrganisationOptions {
  manifest: CurrentManifest;
  config: Pick<SidecarConfig, 'PLATFORM_URL' | 'ORGANISATION_ON_UNKNOWN'>;
  /** Whether an earlier process of the pod was open, and its last directive. */
  store: Pick<DirectiveStore, 'kept' | 'update'>;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
}

/** `busy`: the control plane will judge it, after other manifests of the namespace. */
type Result = 'unknown' | 'busy' | { allowed: boolean; findings: readonly OrganisationFinding[] };

/**
 * The rules of the organisation in a sidecar. They decide whether the agent may start, whether a changed manifest is used, and what the
 * lanes allow. A running agent is never stopped by a rule.
 */
export class Organisation {
  /** What the lanes enforce; null: no rules were received. */
  directive: SentDirective | null;
  /** Why the agent may not start. */
  findings: readonly OrganisationFinding[] = [];
  /** The agent started, or a changed manifest was used, without a judgement. */
  notJudged = 0;
  readonly #options: OrganisationOptions;
  #put: PutManifest | null = null;
  #state: StartState;
  /** The rules that were not judged last, as JSON. */
  #missed = '[]';
  /** Ends the current pause. */
  #changed: AbortController | null = null;

  constructor(options: OrganisationOptions) {
    this.#options = options;
    const { opened, organisation } = options.store.kept;
    this.directive = organisation;
    // Without a control plane there are no rules. A sidecar that restarts does so next to a running agent.
    this.#state = options.config.PLATFORM_URL === null || opened ? 'open' : 'judging';
    options.manifest.admit = (loaded) => this.#admit(loaded);
  }

  /** Once `open`, it stays so: readiness of a running pod never depends on the rules. */
  get state(): StartState {
    return this.#state;
  }

  /** @param sender sends manifests to the control plane; null: there is none */
  start(sender: { putManifest: PutManifest } | null): void {
    if (sender === null) return;
    this.#put = (text, signal) => sender.putManifest(text, signal);
    // One listener: a pause that added its own would leave one for each ten seconds of waiting.
    this.#options.manifest.onChange(() => this.#changed?.abort());
    if (this.#state !== 'open') void this.#judgeStart();
  }

  /** Takes the directive and the request for the manifest out of the response to a heartbeat. */
  replied(body: string): void {
    this.#options.manifest.retry();
    const value = jsonOf(body);
    if (!isRecord(value)) return;
    this.use(value['organisation']);
    if (value['manifest'] === 'wanted') void this.#ask(this.#options.manifest.loaded);
  }

  /** Asks until the manifest is allowed, or until the time for a judgement is over. */
  async #judgeStart(): Promise<void> {
    const { manifest, clock, logger, config } = this.#options;
    const endMs = clock.monotonicMs() + KNOWN_WITHIN_MS;
    try {
      for (;;) {
        const result = await this.#ask(manifest.loaded);
        const isLate = clock.monotonicMs() >= endMs;
        if (result === 'unknown') {
          if (isLate && config.ORGANISATION_ON_UNKNOWN === 'start' && this.#state === 'judging') {
            this.notJudged += 1;
            logger.warn('agent starts without a judgement of its manifest by the organisation');
            this.#open();
            return;
          }
        } else if (result !== 'busy') this.#settle(result);
        if (this.#state === 'open') return;
        await this.#pause(typeof result === 'string' && !isLate ? RETRY_SOON_MS : RETRY_MS);
      }
    } catch {
      // The sidecar is stopping.
    }
  }

  /** Until the time is over, or the manifest changes. */
  async #pause(ms: number): Promise<void> {
    const { clock, signal } = this.#options;
    this.#changed = new AbortController();
    const early = AbortSignal.any([signal, this.#changed.signal]);
    await clock.sleep(ms, early).catch(() => signal.throwIfAborted());
  }

  #open(): void {
    this.#state = 'open';
    this.#options.store.update({ opened: true });
  }

  #settle({ allowed, findings }: Exclude<Result, string>): void {
    const { logger } = this.#options;
    const before = this.#state;
    if (allowed) this.#open();
    else this.#state = 'not-allowed';
    this.findings = allowed ? [] : findings;
    if (before === this.#state) return;
    if (allowed) logger.info('manifest allowed by the organisation');
    else logger.error('manifest not allowed by the organisation, the agent does not start', textOf(findings));
  }

  /** Why a changed manifest is not used; null: it is. Before the agent has started, every manifest is used, because the start waits. */
  async #admit(loaded: ValidManifest): Promise<string | null> {
    if (this.#put === null || this.#state !== 'open') return null;
    const result = await this.#ask(loaded);
    if (typeof result === 'string') {
      if (result === 'busy' || this.#options.config.ORGANISATION_ON_UNKNOWN === 'wait')
        return 'the organisation has not judged it yet';
      this.notJudged += 1;
      return null;
    }
    if (result.allowed) return null;
    const { problem } = textOf(result.findings);
    return `the organisation does not allow it: ${problem}`;
  }

  async #ask({ text, hash }: ValidManifest): Promise<Result> {
    const { signal } = this.#options;
    if (this.#put === null) return 'unknown';
    // The text of a file has no byte order mark, but the hash includes it.
    const isWhole = createHash('sha256').update(text).digest('hex') === hash;
    const response = await this.#put(isWhole ? text : `\ufeff${text}`, signal);
    if ('reason' in response) return 'unknown';
    if (response.status === 429) return 'busy';
    // A control plane of an earlier version has no rules.
    if (response.status === 404) return { allowed: true, findings: [] };
    const parsed = parseWith(manifestJudgement, jsonOf(response.body));
    if (response.status !== 200 || !parsed.ok) return 'unknown';
    const { allowed, findings, notJudged = [], organisation } = parsed.value;
    this.#logMissed(notJudged);
    this.use(organisation);
    return allowed === null ? 'unknown' : { allowed, findings };
  }

  /** Once, although the same question may be asked every ten seconds. */
  #logMissed(missed: readonly NotJudged[]): void {
    const text = JSON.stringify(missed);
    if (text === this.#missed) return;
    this.#missed = text;
    for (const { policy, rule = '(all)', reason } of missed)
      this.#options.logger.warn('organisation rule was not judged', { policy, rule, problem: reason });
  }

  /** Applies what the lanes enforce from now on. Another value than a directive changes nothing. */
  use(directive: unknown): void {
    const parsed = parseWith(sentDirective, directive);
    if (!parsed.ok) return;
    this.directive = parsed.value;
    this.#options.store.update({ organisation: parsed.value });
  }
}

/** The first Deny rule that is broken, for a log line. */
function textOf(findings: readonly OrganisationFinding[]): { rule: string; problem: string } {
  const found = findings.find(({ action }) => action === 'Deny');
  if (found === undefined) return { rule: '', problem: '' };
  const { policy, rule, path, message } = found;
  return { rule: `${policy}/${rule}`, problem: path === '' ? message : `${path}: ${message}` };
}
