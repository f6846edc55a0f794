import { decide } from '../../core/injection/decide.ts';
import { inject } from '../../core/injection/inject.ts';
import type { Pod } from '../../core/injection/pod.ts';
import type { InjectionSettings } from '../../core/injection/settings.ts';
import type { KubeAnswer, KubeClient } from '../../kube/client.ts';
import { expectOk } from '../../kube/objects.ts';
import { collectionPath, objectPath, PODS, type Resource } from '../../kube/resources.ts';
import type { Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { canaryPod } from './canary-pod.ts';
import { verdictOf, type Outcome, type Verdict } from './verdict.ts';

interface WebhookConfiguration {
  webhooks?: { clientConfig: { caBundle?: string } }[];
}

const WEBHOOK_CONFIGURATIONS: Resource<WebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'mutatingwebhookconfigurations',
  kind: 'MutatingWebhookConfiguration',
};

export interface CanaryOptions {
  /** Reads the webhook's configuration. */
  client: KubeClient;
  /** May create pods in `namespace`, and only as dry-run. */
  account: KubeClient;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  namespace: string;
  /** The MutatingWebhookConfiguration that asks the injector. */
  configuration: string;
  /** What the injector is set to. */
  settings: Omit<InjectionSettings, 'ca'>;
  /** Between two checks that pass. */
  everyMs: number;
  /** The injector has just answered. */
  onAnswer: () => void;
  /**
   * Called after every check that passed and every one whose finding has lasted, with the caBundle that the API server
   * had: writes it down, and resolves with what was written down before; null: nothing.
   */
  remember: (verdict: Verdict, bundle: string, signal: AbortSignal) => Promise<Outcome | null>;
  /** Called once when a finding has lasted, and with `passed` once it is over. */
  report: (verdict: Verdict) => void;
}

/** Sees in short that a pod which opts in gets what it should, through the real API server, and stores nothing. */
export interface Canary {
  run(signal: AbortSignal): Promise<void>;
  /** Checks at once, unless one is under way that began after this. */
  askSoon(): void;
  /** When the last check began in which the injector answered, on the clock that never jumps. */
  answeredAtMs(): number;
}

/** However often somebody asks. */
const APART_MS = 250;
/** After a finding, until it is over. */
const RECHECK_MS = 2_000;
/**
 * How long a finding lasts until it is told: a new installation, an upgrade and an exchange of authorities pass by
 * themselves. Metrics show it at once.
 */
const PATIENCE_MS: Record<Exclude<Outcome, 'passed'>, number> = {
  'no-answer': 30_000,
  refused: 30_000,
  differs: 30_000,
  'other-version': 300_000,
  'other-authority': 60_000,
  unusable: 30_000,
};

export function createCanary(options: CanaryOptions): Canary {
  return new DryRunCanary(options);
}

class DryRunCanary implements Canary {
  readonly #options: CanaryOptions;
  readonly #checks;
  #last: Outcome | null = null;
  #passedAt: Date | null = null;
  #answeredAtMs = -Infinity;
  #finding: { outcome: Outcome; sinceMs: number } | null = null;
  /** A process begins in the belief that all is well. */
  #reported: Outcome = 'passed';
  #wanted = new AbortController();

  constructor(options: CanaryOptions) {
    this.#options = options;
    const { metrics } = options;
    this.#checks = metrics.counter(
      'platform_operator_canary_checks_total',
      'Dry-run pods by what came back.',
    );
    metrics.gauge('platform_operator_canary_passing', '1 while the last dry-run pod was as expected.', () =>
      this.#last === null ? [] : [{ value: this.#last === 'passed' ? 1 : 0 }],
    );
    metrics.gauge(
      'platform_operator_canary_last_passed_timestamp_seconds',
      'Unix time of the last dry-run pod that was as expected.',
      () => (this.#passedAt === null ? [] : [{ value: Math.floor(this.#passedAt.getTime() / 1_000) }]),
    );
  }

  askSoon(): void {
    this.#wanted.abort();
  }

  answeredAtMs(): number {
    return this.#answeredAtMs;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, everyMs } = this.#options;
    while (!signal.aborted) {
      this.#wanted = new AbortController();
      let wait = everyMs;
      try {
        const beganMs = clock.monotonicMs();
        const { verdict, bundle } = await this.#check(signal);
        this.#note(verdict, beganMs);
        await this.#judge(verdict, { bundle, beganMs, signal });
        if (verdict.outcome !== 'passed') wait = Math.min(RECHECK_MS, everyMs);
      } catch (error) {
        if (signal.aborted) return;
        // No finding about the injector: the API server is away, or the rights are missing.
        this.#checks.add({ outcome: 'error' });
        logger.warn('the canary cannot ask', { error: describeError(error) });
      }
      await clock.sleep(Math.min(APART_MS, wait), signal).catch(() => undefined);
      const wake = AbortSignal.any([signal, this.#wanted.signal]);
      await clock.sleep(Math.max(wait - APART_MS, 0), wake).catch(() => undefined);
    }
  }

  async #check(signal: AbortSignal): Promise<{ verdict: Verdict; bundle: string }> {
    const pod = canaryPod(this.#options.namespace);
    const bundle = await this.#bundle(signal);
    const expected = this.#expected(pod, bundle);
    const answer = await this.#create(pod, signal);
    const before = verdictOf(answer, expected, null);
    if (before.outcome !== 'unusable') return { verdict: before, bundle };
    const reference = await this.#create(optedOut(expected), signal);
    return { verdict: verdictOf(answer, expected, reference), bundle };
  }

  /** The authorities that the API server believes, PEM. */
  async #bundle(signal: AbortSignal): Promise<string> {
    const { client, configuration } = this.#options;
    const path = objectPath(WEBHOOK_CONFIGURATIONS, { name: configuration });
    const { webhooks = [] } = expectOk(
      await client.send<WebhookConfiguration>({ method: 'GET', path, signal }),
    );
    return Buffer.from(webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString('utf8');
  }

  /** What the injector's own function makes of the pod. */
  #expected(pod: Pod, ca: string): Pod {
    const whole = { ...this.#options.settings, ca };
    const decision = decide(pod, whole);
    if (decision.action !== 'inject')
      throw new Error(`by these settings the canary's pod is not injected: ${JSON.stringify(decision)}`);
    return inject(pod, decision.plan, whole);
  }

  async #create(pod: Pod, signal: AbortSignal): Promise<KubeAnswer<Pod>> {
    const { account, namespace } = this.#options;
    const answer = await account.send<Pod>({
      method: 'POST',
      path: collectionPath(PODS, namespace),
      query: { dryRun: 'All' },
      body: pod,
      signal,
      // The API server waits for the webhook, twice at most.
      timeoutMs: 70_000,
    });
    // Neither the guard nor the injector speaks like that: the namespace is not there, the token is refused.
    if (!answer.ok && answer.status !== 422 && !/denied|PodSecurity|quota/.test(answer.message))
      expectOk(answer);
    return answer;
  }

  #note(verdict: Verdict, beganMs: number): void {
    const { clock, logger, onAnswer } = this.#options;
    const { outcome, answers, message } = verdict;
    this.#checks.add({ outcome });
    if (outcome === 'passed') this.#passedAt = clock.now();
    if (answers) {
      this.#answeredAtMs = beganMs;
      onAnswer();
    }
    if (this.#last !== outcome)
      logger[outcome === 'passed' ? 'info' : 'warn']('the canary finds', { outcome, message });
    this.#last = outcome;
  }

  async #judge(
    verdict: Verdict,
    { bundle, beganMs, signal }: { bundle: string; beganMs: number; signal: AbortSignal },
  ): Promise<void> {
    const { clock, remember, report } = this.#options;
    const { outcome } = verdict;
    if (this.#finding?.outcome !== outcome) this.#finding = { outcome, sinceMs: beganMs };
    const lastsMs = clock.monotonicMs() - this.#finding.sinceMs;
    const isDue = outcome === 'passed' || lastsMs >= PATIENCE_MS[outcome];
    if (!isDue) return;
    // What the leader before this one said, it need not say again.
    const before = (await remember(verdict, bundle, signal)) ?? this.#reported;
    this.#reported = outcome;
    if (before !== outcome) report(verdict);
  }
}

function optedOut(pod: Pod): Pod {
  const annotations = { ...pod.metadata?.annotations, 'platform.io/inject': 'false' };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}
