import type { Manifest } from '../../core/manifest/manifest.ts';
import { tokenPriceOf } from '../../core/manifest/token-price.ts';
import type { UsageTotals } from '../../core/usage/usage.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { PeerUsage } from './peer-usage.ts';

/** Today's totals of all instances of the agent, as far as this instance knows; cost is absent without a price. */
export function totalsOfAll(audit: AuditLog, others: PeerUsage, manifest: Manifest): UsageTotals {
  const { tokensToday, costTodayUsd } = audit.totalsToday(tokenPriceOf(manifest));
  const { tokens, costUsd } = others.totals;
  if (costTodayUsd === undefined) return { tokensToday: tokensToday + tokens };
  return { tokensToday: tokensToday + tokens, costTodayUsd: costTodayUsd + costUsd };
}
