import { evidenceOf } from '../core/evidence/evidence-of.ts';
import { SeenTimes } from '../core/evidence/seen-times.ts';
import { reportedModelCall, sightingsInChecks } from '../core/facts/sightings.ts';
import { assess } from '../core/gap/assess.ts';
import { scoreWithoutLocalProofs } from '../core/gap/score-without-local-proofs.ts';
import type { HealthStatus } from '../core/shapes/health.ts';
import { composeHeartbeat } from '../core/observation/compose-heartbeat.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import type { PushClock, PushLogger } from '../push/clock.ts';
import { HeartbeatSender, type Beat } from '../push/heartbeat-sender.ts';
import type { CheckedAgent } from './health-checks.ts';
import type { PushSettings } from './push-settings.ts';
import { ReceivedProofs } from './received-proofs.ts';
import type { Refresher } from './refresher.ts';
import type { UsageLedger } from './usage-ledger.ts';

export interface PusherContext {
  settings: PushSettings;
  manifest: Manifest;
  refresher: Refresher<CheckedAgent>;
  ledger: UsageLedger;
  clock: PushClock;
  logger: PushLogger;
}

export type Pusher = ReturnType<typeof createPusher>;

/** Heartbeats of an agent that has no sidecar. */
export function createPusher(context: PusherContext) {
  let sender: HeartbeatSender | null = null;
  let lastStatus: HealthStatus | null = null;
  const proofs = new ReceivedProofs(context.manifest.spec.model.id);
  return {
    /** Idempotent. */
    start: (): void => {
      if (sender !== null) return;
      // The sequence restarts at 1, so the control plane needs a new start time.
      sender = senderOf(context, proofs, context.clock.now());
      sender.start();
    },
    stop: async (): Promise<void> => {
      const ending = sender;
      sender = null;
      await ending?.close();
    },
    /** Sends a heartbeat immediately if the health status has changed. */
    noteReport: ({ health }: CheckedAgent): void => {
      if (lastStatus !== null && lastStatus !== health.status) sender?.trigger();
      lastStatus = health.status;
    },
  };
}

function senderOf(context: PusherContext, proofs: ReceivedProofs, startedAt: Date): HeartbeatSender {
  const { settings, manifest, refresher, ledger, clock, logger } = context;
  const seen = new SeenTimes(() => clock.now());
  const idOf = (seq: number | null): string => `${startedAt.toISOString()} ${seq}`;
  const sender = new HeartbeatSender({
    ...settings,
    logger,
    clock,
    compose: async ({ seq, intervalSeconds }: Beat) => {
      const checked = await refresher.getReport();
      if (checked === null) throw new Error('no health report yet');
      const { health } = checked;
      const facts = { ...checked.facts, agentReport: { checks: health.checks }, proofs: proofs.counted };
      const gap = assess(manifest, facts);
      const usage = ledger.take(idOf(seq));
      // The sidecar observes none of this. Probes and usage come from the agent itself and count as reported.
      seen.note(sightingsInChecks(health.checks));
      for (const model of usage.models) seen.note(reportedModelCall(model.modelId, model.totalTokens));
      const at = clock.now();
      const { received } = proofs;
      return composeHeartbeat({
        instance: settings.instance,
        seq,
        intervalSeconds,
        at,
        startedAt,
        manifest,
        health,
        gap,
        scoreWithoutLocalProofs: scoreWithoutLocalProofs(manifest, facts, gap),
        evidence: evidenceOf({ manifest, at, seen: seen.times, reach: new Map(), proofs: facts.proofs }),
        proofs: received.proofs,
        proofRevision: received.revision,
        usage,
        totals: ledger.totals(),
      });
    },
    onReply: (reply, sent) => {
      ledger.confirm(idOf(sent.seq));
      // The accepted heartbeat did not take these proofs into account, and the next one may be an hour away.
      if (proofs.note(reply)) sender.trigger();
    },
  });
  return sender;
}
