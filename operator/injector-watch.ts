import { once } from 'node:events';
import { KubeClient } from '../kube/client.ts';
import type { ClusterAccess } from '../kube/cluster-access.ts';
import { EVENTS, type EventRecorder, type StoredEvent } from '../kube/events.ts';
import { Informer, type InformerTiming } from '../kube/informer.ts';
import { getObject } from '../kube/objects.ts';
import { DEPLOYMENTS } from '../kube/resources.ts';
import { accessAs } from '../kube/service-account.ts';
import type { WorkObserver } from '../kube/work-queue.ts';
import type { Clock } from '../runtime/clock.ts';
import { injectionSettings } from '../runtime/injection-config.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { Canary } from './canary/canary.ts';
import { updateCondition } from './canary/condition.ts';
import type { Outcome, Verdict } from './canary/verdict.ts';
import { canaryOf, type OperatorConfig } from './config.ts';
import { RejectionController } from './rejections/controller.ts';
import { keepEvent } from './rejections/rejection.ts';

export interface InjectorWatchParts {
  config: OperatorConfig;
  /** The namespace of the release, which contains the canary's ServiceAccount; null: unknown, so no canary. */
  namespace: string | null;
  access: ClusterAccess;
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  events: EventRecorder;
  observe: WorkObserver;
  informerTiming?: Partial<InformerTiming> | undefined;
}

/** The operator's work for the injector: the canary, and reports and retries for rejected pods. */
export function createInjectorWatch(parts: InjectorWatchParts) {
  const canary = createCanaryOf(parts, () => rejections?.controller.injectorResponded());
  const rejections = createRejections(parts, canary?.canary ?? null);
  return {
    /** The Events of rejected pods; null: not configured. */
    rejections: rejections?.informer ?? null,
    start: () => rejections?.informer.start(),
    /** Waiting keys by queue. */
    depths: () => (rejections ? [{ queue: 'rejections', depth: rejections.controller.depth() }] : []),
    /** Runs while this process is the leader. */
    async run(signal: AbortSignal): Promise<void> {
      const rejectionsRun = rejections?.informer.synced().then(() => {
        // The signal may belong to an earlier leadership that ended before the first list.
        return signal.aborted ? undefined : rejections.controller.run(signal);
      });
      // Without permission to read Events there is never a first list.
      const ended = signal.aborted ? null : once(signal, 'abort');
      await Promise.all([canary?.canary.run(signal), rejectionsRun && Promise.race([rejectionsRun, ended])]);
    },
    async close(): Promise<void> {
      await rejections?.informer.close();
      await canary?.account.close();
    },
  };
}

function createRejections(
  parts: InjectorWatchParts,
  injector: Canary | null,
): { informer: Informer<StoredEvent>; controller: RejectionController } | null {
  const { config, client, clock, logger, metrics, events, observe, informerTiming } = parts;
  const guardPolicy = config.GUARD_POLICY;
  if (guardPolicy === null) return null;
  const informer = new Informer<StoredEvent>({
    client,
    clock,
    logger,
    ...(informerTiming ? { timing: informerTiming } : {}),
    resource: EVENTS,
    selection: { fieldSelector: 'reason=FailedCreate' },
    keep: keepEvent(guardPolicy),
    onChange: (change) => controller.eventChanged(change),
  });
  const controller = new RejectionController({
    ...{ client, clock, logger, events, observe, guardPolicy, injector },
    retries: metrics.counter(
      'platform_operator_wakes_total',
      'Retries of controllers whose pods were rejected while the injector was unavailable.',
    ),
    isRetryEnabled: config.WAKE_CONTROLLERS,
    allEvents: () => informer.list(),
  });
  return { informer, controller };
}

function createCanaryOf(
  parts: InjectorWatchParts,
  onResponse: () => void,
): { canary: Canary; account: KubeClient } | null {
  const { config, namespace, access, client, clock, logger, metrics } = parts;
  const wanted = canaryOf(config);
  if (wanted === null || namespace === null) return null;
  const name = config.CANARY_SERVICE_ACCOUNT;
  const account = new KubeClient({
    access: accessAs({ namespace, name }, { client, access, clock }),
    part: 'canary',
  });
  const canary = new Canary({
    ...{ client, account, clock, logger, metrics, onResponse },
    namespace: wanted.namespace,
    configuration: config.WEBHOOK_CONFIGURATION,
    settings: injectionSettings(wanted.injection, namespace),
    everyMs: config.CANARY_SECONDS * 1_000,
    saveVerdict: (verdict, bundle, signal) => saveVerdict(parts, { verdict, bundle, signal }),
    report: (verdict) => void report(parts, namespace, verdict),
  });
  return { canary, account };
}

/** Writes the condition, for `kubectl wait` and for the webhook. Returns null if there is none or the write fails. */
async function saveVerdict(
  { config, client, clock, logger }: InjectorWatchParts,
  { verdict, bundle, signal }: { verdict: Verdict; bundle: string; signal: AbortSignal },
): Promise<Outcome | null> {
  const policy = config.CANARY_POLICY;
  if (policy === null) return null;
  try {
    return await updateCondition(verdict, bundle, { client, policy, signal, now: clock.now() });
  } catch (error) {
    if (!signal.aborted) logger.warn('failed to write canary condition', { error: describeError(error) });
    return null;
  }
}

/** Emits an Event on the injector's Deployment, which users check when injection fails. */
async function report(parts: InjectorWatchParts, namespace: string, verdict: Verdict): Promise<void> {
  const { client, config, events, logger } = parts;
  const { kind } = DEPLOYMENTS;
  const name = config.WEBHOOK_DEPLOYMENT;
  try {
    const deployment = await getObject(client, DEPLOYMENTS, { namespace, name });
    const uid = deployment?.metadata.uid;
    const isPassed = verdict.outcome === 'passed';
    events.record({
      regarding: { apiVersion: 'apps/v1', kind, namespace, name, ...(uid === undefined ? {} : { uid }) },
      type: isPassed ? 'Normal' : 'Warning',
      reason: isPassed ? 'CanaryPassed' : 'CanaryFailed',
      action: 'DryRun',
      note: `${verdict.outcome}: ${verdict.message}`,
    });
  } catch (error) {
    logger.warn('failed to record canary event', { error: describeError(error) });
  }
}
