import { once } from 'node:events';
import { KubeClient } from '../kube/client.ts';
import type { ClusterAccess } from '../kube/cluster-access.ts';
import type { ClusterParts } from '../kube/cluster-parts.ts';
import type { EventRecorder } from '../kube/events.ts';
import { accessAs } from '../kube/service-account.ts';
import type { WorkObserver } from '../kube/work-queue.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { Canary } from './canary/canary.ts';
import { installedOf, type OperatorConfig } from './config.ts';
import { RejectionController } from './rejections/controller.ts';

export interface InjectorWatchParts extends ClusterParts {
  config: OperatorConfig;
  /** The namespace of the release, which contains the canary's ServiceAccount; null: unknown, so no canary. */
  namespace: string | null;
  access: ClusterAccess;
  metrics: Metrics;
  events: EventRecorder;
  observe: WorkObserver;
  /** Called with the key of an agent whose `misfitOf` has changed. */
  onMisfit(agent: string): void;
}

/** The operator's work for the injector: the canary, and reports and retries for rejected pods. */
export function createInjectorWatch(parts: InjectorWatchParts) {
  const { GUARD_POLICY: guardPolicy, WAKE_CONTROLLERS: isRetryEnabled } = parts.config;
  const canary = createCanary(parts, () => rejections?.injectorResponded());
  const rejections =
    guardPolicy === null
      ? null
      : new RejectionController({ ...parts, guardPolicy, isRetryEnabled, injector: canary });
  return {
    /** The Events of rejected pods; null: not configured. */
    rejections: rejections?.informer ?? null,
    misfitOf: (agent: string) => rejections?.misfitOf(agent) ?? null,
    start: () => rejections?.informer.start(),
    /** Waiting keys by queue. */
    depths: () => (rejections ? [{ queue: 'rejections', depth: rejections.depth() }] : []),
    /** Runs while this process is the leader. */
    async run(signal: AbortSignal): Promise<void> {
      const rejectionsRun = rejections?.informer.synced().then(() => {
        // The signal may belong to an earlier leadership that ended before the first list.
        return signal.aborted ? undefined : rejections.run(signal);
      });
      // Without permission to read Events there is never a first list.
      const ended = signal.aborted ? null : once(signal, 'abort');
      await Promise.all([canary?.run(signal), rejectionsRun && Promise.race([rejectionsRun, ended])]);
    },
    async close(): Promise<void> {
      await rejections?.informer.close();
      await canary?.close();
    },
  };
}

function createCanary(parts: InjectorWatchParts, onResponse: () => void): Canary | null {
  const { config, namespace } = parts;
  const { CANARY_NAMESPACE: canaryNamespace } = config;
  const settings = installedOf(config, namespace);
  if (settings === null || canaryNamespace === null || namespace === null) return null;
  const access = accessAs({ namespace, name: config.CANARY_SERVICE_ACCOUNT }, parts);
  return new Canary({
    ...{ ...parts, namespace, canaryNamespace, settings, onResponse },
    account: new KubeClient({ access, part: 'canary' }),
  });
}
