import { expect, test } from '@jest/globals';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import type { UsageTotals } from '../../core/shapes/usage.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { PeerUsage } from './peer-usage.ts';
import { tokenPriceOf } from '../../core/manifest/token-price.ts';
import { auditLogOf } from '../../testing/sidecar/audit-log.ts';

const priced = plainManifest('shop', []);
priced.spec.model.costControls = { usdPerMillionTokens: { input: 2, output: 8 } };

function usage(): { audit: AuditLog; peerUsage: PeerUsage; clock: ManualClock } {
  const clock = new ManualClock('2026-03-01T12:00:00Z');
  const audit = auditLogOf(clock);
  audit
    .arrive({ requestId: 'r-1', method: 'POST', target: '/chat' })
    .complete({ statusCode: 200, aborted: false, atMs: 0 });
  const call = { type: 'model' as const, modelId: 'm', promptTokens: 1_000_000, completionTokens: 500_000 };
  audit.recordEvents({ requestId: 'r-1', events: [call] });
  const peerUsage = new PeerUsage(clock);
  peerUsage.update({ tokens: 7, costUsd: 0.5 });
  return { audit, peerUsage, clock };
}

function totalsOfAll(audit: AuditLog, peerUsage: PeerUsage, manifest = priced): UsageTotals {
  return peerUsage.withOwn(audit.totalsToday(tokenPriceOf(manifest)));
}

test('adds today’s usage of the other instances', () => {
  const { audit, peerUsage } = usage();
  expect(totalsOfAll(audit, peerUsage)).toEqual({ tokensToday: 1_500_007, costTodayUsd: 6.5 });
});

test('has no cost without a price, even if other instances report a cost', () => {
  const { audit, peerUsage } = usage();
  expect(totalsOfAll(audit, peerUsage, plainManifest('shop', []))).toEqual({ tokensToday: 1_500_007 });
});

test('counts calls without a request in totals, window and cost, and does not store the calls', () => {
  const { audit, peerUsage } = usage();
  const calls = Array.from({ length: 500 }, (_, index) => ({
    type: 'model' as const,
    modelId: `m${index}`,
    promptTokens: 1_000,
    completionTokens: 0,
  }));
  const before = audit.window;
  audit.recordUsage(calls);
  expect(totalsOfAll(audit, peerUsage)).toEqual({ tokensToday: 2_000_007, costTodayUsd: 7.5 });
  expect([audit.window.totalTokens - before.totalTokens, audit.window.models.length]).toEqual([500_000, 100]);
  expect([audit.withoutRequest, audit.tokens.prompt]).toEqual([
    { totalTokens: 500_000, totalCalls: 500 },
    1_500_000,
  ]);
  expect(audit.ring.newest().map(({ events }) => events?.length)).toEqual([1]);
});

test('starts from zero on the next day', () => {
  const { audit, peerUsage, clock } = usage();
  clock.advance(86_400_000);
  expect(totalsOfAll(audit, peerUsage)).toEqual({ tokensToday: 0, costTodayUsd: 0 });
});
