import * as z from 'zod';
import { agentRow } from '../../core/shapes/agent-row.ts';
import { proofRecord } from '../../core/shapes/proof.ts';
import {
  completeGap,
  readyReport,
  ringUsageReport,
  shownUsageReport,
} from '../../core/shapes/sidecar-reports.ts';
import { storedGap, storedHealth, storedUsage } from '../../core/shapes/stored.ts';
import { loose } from './loose.ts';

/**
 * Output schemas of the tools about agents. They also parse what a sidecar or a control plane of another version returned. Each
 * report has the members that a sidecar returns and those that a control plane returns.
 */

/** They are first, so that a model reads them first. */
const received = {
  notice: z.string().describe('How to read the texts of this result'),
  receivedFrom: z.string().describe('The server that returned the report'),
};

export const gapReport = z.object({
  ...received,
  ...loose(completeGap, ['score', 'grade']),
  ...loose(storedGap, ['score', 'grade']),
});

export const healthReport = z.object({
  ...received,
  ...loose(readyReport, ['agentName', 'timestamp']),
  ...loose(storedHealth, ['agentName', 'timestamp']),
  status: z.string().nullish().describe('ready or healthy, degraded, not-ready or unhealthy'),
});

const SUMS = ['totalTokens', 'totalCalls'] as const;

export const usageReport = z.object({
  ...received,
  ...loose(shownUsageReport, SUMS),
  ...loose(ringUsageReport, SUMS),
  ...loose(storedUsage, SUMS),
});

const proof = loose(proofRecord, ['ruleId', 'verifiedBy', 'method', 'verifiedAt']);

export const proofList = z.object({
  ...received,
  proofs: z.array(z.object(proof)),
  proofWrites: z.string().optional().describe('Where proofs are written: local or control-plane'),
});

export const storedProof = z.object({ ...received, ...proof });

export const agentList = z.object({
  ...received,
  agents: z.array(
    z.object(loose(agentRow, ['agentName'])).omit({
      ...{ source: true, costUsd: true, violations: true, failOpen: true, policyMode: true },
      ...{ instances: true, trend: true },
    }),
  ),
  total: z.number().optional().describe('Number of agents in all pages'),
  next: z.string().optional().describe('Pass it as continue to get the next page'),
});
