import { ANNOTATIONS } from '../../core/injection/annotations.ts';
import { decide } from '../../core/injection/decide.ts';
import { inject } from '../../core/injection/inject.ts';
import type { Pod } from '../../core/injection/pod.ts';
import type { InjectionSettings } from '../../core/injection/settings.ts';
import type { KubeResponse, KubeClient } from '../../kube/client.ts';
import type { ClusterParts } from '../../kube/cluster-parts.ts';
import { bundleOf } from '../../kube/encoded.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { expectOk, getObject } from '../../kube/objects.ts';
import { dryRunPod } from '../../kube/pods.ts';
import { DEPLOYMENTS, objectPath, WEBHOOK_CONFIGURATIONS } from '../../kube/resources.ts';
import { testPod } from '../../kube/test-pod.ts';
import type { WebhookConfiguration } from '../../kube/types.ts';
import { describeError } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { OperatorConfig } from '../config.ts';
import { updateCondition } from './condition.ts';
import { resultOf, type Outcome, type CanaryResult } from './canary-result.ts';

/** `client` reads the webhook's configuration and writes the condition. */
export interface CanaryOptions extends ClusterParts {
  config: Pick<
    OperatorConfig,
    'WEBHOOK_CONFIGURATION' | 'WEBHOOK_DEPLOYMENT' | 'CANARY_POLICY' | 'CANARY_SECONDS'
  >;
  /** May only create dry-run pods in `canaryNamespace`. */
  account: KubeClient;
  metrics: Metrics;
  events: EventRecorder;
  /** The namespace of the release. */
  namespace: string;
  canaryNamespace: string;
  /** The settings of the injector. */
  settings: Omit<InjectionSettings, 'ca'>;
  /** Called when the injector has responded. */
  onResponse: () => void;
}

/** Minimum interval between two checks. */
const MIN_INTERVAL_MS = 250;
/** Interval after a failed check. */
const RECHECK_MS = 2_000;
/**
 * How long a failure must last until it is reported: a new installation, an upgrade and a CA rotation cause temporary
 * failures. Metrics show a failure immediately.
 */
const REPORT_AFTER_MS = 30_000;
const LONGER_MS: Partial<Record<Outcome, number>> = { 'other-version': 300_000, 'other-authority': 60_000 };

/** Checks regularly, with dry-run requests to the real API server, that an opted-in pod is injected as expected. */
export class Canary {
  readonly #options: CanaryOptions;
  readonly #checks;
  #last: Outcome | null = null;
  #passedAt: Date | null = null;
  #respondedAtMs = -Infinity;
  #current: { outcome: Outcome; sinceMs: number } | null = null;
  /** A new process assumes that the canary has passed. */
  #reported: Outcome = 'passed';
  #checkRequest = new AbortController();

  constructor(options: CanaryOptions) {
    this.#options = options;
    const { metrics } = options;
    this.#checks = metrics.counter(
      'platform_operator_canary_checks_total',
      'Dry-run pods of the canary by outcome.',
    );
    metrics.gauge(
      'platform_operator_canary_passing',
      '1 if the last dry-run pod was injected as expected.',
      () => (this.#last === null ? [] : [{ value: this.#last === 'passed' ? 1 : 0 }]),
    );
    metrics.gauge(
      'platform_operator_canary_last_passed_timestamp_seconds',
      'Unix time of the last dry-run pod that was injected as expected.',
      () => (this.#passedAt === null ? [] : [{ value: Math.floor(this.#passedAt.getTime() / 1_000) }]),
    );
  }

  /** Requests the next check as soon as possible. */
  checkSoon(): void {
    this.#checkRequest.abort();
  }

  /** Start of the last check in which the injector responded, on the monotonic clock. */
  respondedAtMs(): number {
    return this.#respondedAtMs;
  }

  close(): Promise<void> {
    return this.#options.account.close();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, config } = this.#options;
    const everyMs = config.CANARY_SECONDS * 1_000;
    while (!signal.aborted) {
      this.#checkRequest = new AbortController();
      let wait = everyMs;
      try {
        const beganMs = clock.monotonicMs();
        const { result, bundle } = await this.#check(signal);
        this.#record(result, beganMs);
        await this.#reportIfDue(result, { bundle, beganMs, signal });
        if (result.outcome !== 'passed') wait = Math.min(RECHECK_MS, everyMs);
      } catch (error) {
        if (signal.aborted) return;
        // No result for the injector: the API server is unreachable or a permission is missing.
        this.#checks.add({ outcome: 'error' });
        logger.warn('canary did not run', { error: describeError(error) });
      }
      await clock.sleep(Math.min(MIN_INTERVAL_MS, wait), signal).catch(() => undefined);
      const interrupt = AbortSignal.any([signal, this.#checkRequest.signal]);
      await clock.sleep(Math.max(wait - MIN_INTERVAL_MS, 0), interrupt).catch(() => undefined);
    }
  }

  async #check(signal: AbortSignal): Promise<{ result: CanaryResult; bundle: string }> {
    const { client, config, canaryNamespace } = this.#options;
    const optedIn = testPod({ name: 'canary', namespace: canaryNamespace, inject: 'true' });
    // The organisation rules of a namespace may require a stricter mode than the default, which the operator does not know.
    const pod = annotated(optedIn, ANNOTATIONS.mode, 'enforce');
    const path = objectPath(WEBHOOK_CONFIGURATIONS, { name: config.WEBHOOK_CONFIGURATION });
    const configuration = await client.send<WebhookConfiguration>({ method: 'GET', path, signal });
    const bundle = bundleOf(expectOk(configuration));
    const expected = this.#expected(pod, bundle);
    const response = await this.#create(pod, signal);
    const preliminary = resultOf(response, expected, null);
    if (preliminary.outcome !== 'unusable') return { result: preliminary, bundle };
    const reference = await this.#create(annotated(expected, ANNOTATIONS.inject, 'false'), signal);
    return { result: resultOf(response, expected, reference), bundle };
  }

  /** The pod after injection by the injector's own function. */
  #expected(pod: Pod, ca: string): Pod {
    const settings = { ...this.#options.settings, ca };
    const decision = decide(pod, settings);
    if (decision.action !== 'inject')
      throw new Error(`the canary pod is not injected with these settings: ${JSON.stringify(decision)}`);
    return inject(pod, decision, settings);
  }

  async #create(pod: Pod, signal: AbortSignal): Promise<KubeResponse<Pod>> {
    const { account, canaryNamespace } = this.#options;
    const response = await dryRunPod(account, canaryNamespace, pod, signal);
    // Other errors come neither from the guard nor from the injector: a missing namespace, a rejected token.
    if (!response.ok && response.status !== 422 && !/denied|PodSecurity|quota/.test(response.message))
      expectOk(response);
    return response;
  }

  #record(result: CanaryResult, beganMs: number): void {
    const { clock, logger, onResponse } = this.#options;
    const { outcome, injectorResponded, message } = result;
    this.#checks.add({ outcome });
    if (outcome === 'passed') this.#passedAt = clock.now();
    if (injectorResponded) {
      this.#respondedAtMs = beganMs;
      onResponse();
    }
    if (this.#last !== outcome)
      logger[outcome === 'passed' ? 'info' : 'warn']('canary outcome changed', { outcome, message });
    this.#last = outcome;
  }

  async #reportIfDue(
    result: CanaryResult,
    { bundle, beganMs, signal }: { bundle: string; beganMs: number; signal: AbortSignal },
  ): Promise<void> {
    const { clock } = this.#options;
    const { outcome } = result;
    if (this.#current?.outcome !== outcome) this.#current = { outcome, sinceMs: beganMs };
    const lastsMs = clock.monotonicMs() - this.#current.sinceMs;
    const isDue = outcome === 'passed' || lastsMs >= (LONGER_MS[outcome] ?? REPORT_AFTER_MS);
    if (!isDue) return;
    // Does not report again what the previous leader has reported.
    const before = (await this.#saveResult(result, bundle, signal)) ?? this.#reported;
    this.#reported = outcome;
    if (before !== outcome) void this.#report(result);
  }

  /** Writes the condition, for `kubectl wait` and for the webhook. Returns null if there is none or the write fails. */
  async #saveResult(result: CanaryResult, bundle: string, signal: AbortSignal): Promise<Outcome | null> {
    const { config, client, clock, logger } = this.#options;
    if (config.CANARY_POLICY === null) return null;
    try {
      return await updateCondition(config.CANARY_POLICY, result, bundle, { client, clock, signal });
    } catch (error) {
      if (!signal.aborted) logger.warn('failed to write canary condition', { error: describeError(error) });
      return null;
    }
  }

  /** Emits an Event on the injector's Deployment, which users check when injection fails. */
  async #report({ outcome, message }: CanaryResult): Promise<void> {
    const { client, config, events, logger, namespace } = this.#options;
    const name = config.WEBHOOK_DEPLOYMENT;
    try {
      const uid = (await getObject(client, DEPLOYMENTS, { namespace, name }))?.metadata.uid;
      const isPassed = outcome === 'passed';
      events.record({
        regarding: { apiVersion: 'apps/v1', kind: 'Deployment', namespace, name, ...(uid && { uid }) },
        type: isPassed ? 'Normal' : 'Warning',
        reason: isPassed ? 'CanaryPassed' : 'CanaryFailed',
        action: 'DryRun',
        note: `${outcome}: ${message}`,
      });
    } catch (error) {
      logger.warn('failed to read injector Deployment, canary Event not emitted', {
        error: describeError(error),
      });
    }
  }
}

function annotated(pod: Pod, { name }: { name: string }, value: string): Pod {
  const annotations = { ...pod.metadata?.annotations, [name]: value };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}
