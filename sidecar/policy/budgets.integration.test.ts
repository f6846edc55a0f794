import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { inEachSetting, KEEPS, type Setting } from '../../testing/sidecar/client-rig.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { ask } from '../../testing/sidecar/proxy-rig.ts';
import { TestServers } from '../../testing/http/sockets.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';

const TOKENS = 'daily_token_limit_exceeded';
const COST = 'monthly_cost_limit_exceeded';

/** 100 tokens or one dollar a day. A million prompt tokens cost two dollars, a million completion tokens eight. */
const manifestWith = (costControls: object): string =>
  manifestText({ model: { provider: 'openai', id: 'gpt-5', apiKey: '$env:OPENAI_API_KEY', costControls } });
const usdPerMillionTokens = { input: 2, output: 8 };
const LIMITED = manifestWith({ maxTokensPerDay: 100 });
const PRICED = manifestWith({ maxMonthlyUSD: 30, usdPerMillionTokens });
const UNPRICED = manifestWith({ maxMonthlyUSD: 30 });

/** The usage of a response; null: compressed twice, so the sidecar cannot read it. */
type Used = { prompt: number; completion: number } | null;

/** A sidecar for each test of a suite, with an agent whose responses contain the given usage. */
function budget({ mode, env }: Setting, manifest: string, others?: { tokens: number; costUsd: number }) {
  let rig: SidecarRig;
  let clock: ManualClock;
  let used: Used;
  /** Runs a control plane that reports the usage of other instances with each heartbeat. */
  const planes = new TestServers();

  beforeEach(async () => {
    clock = new ManualClock('2026-03-01T23:00:00Z');
    const plane = await planes.http((request, response) => {
      request.resume().on('end', () => response.end(JSON.stringify({ othersToday: others })));
    });
    const reporting = { PLATFORM_URL: `http://127.0.0.1:${plane}`, PLATFORM_KEY: 'key' };
    const variables = { OPENAI_API_KEY: 'x', ...(others && reporting), ...(await env()) };
    rig = await startSidecarRig({ manifest, clock, env: variables });
    rig.agent.otherwise = (_request, response) => {
      const usage = { prompt_tokens: used?.prompt ?? 9e6, completion_tokens: used?.completion ?? 9e6 };
      const body = JSON.stringify({ model: 'gpt-5', object: 'chat.completion', choices: [], usage });
      const head = { ...KEEPS, 'content-type': 'application/json' };
      if (used === null) {
        response.writeHead(200, { ...head, 'content-encoding': 'gzip, gzip' }).end(gzipSync(gzipSync(body)));
        return;
      }
      // A response that is compressed once is counted like an uncompressed response.
      if (used?.completion === 0)
        response.writeHead(200, { ...head, 'content-encoding': 'gzip' }).end(gzipSync(body));
      else response.writeHead(200, { ...head, 'content-length': body.length }).end(body);
    };
  });
  afterEach(async () => {
    await rig.close();
    await planes.close();
  });

  return {
    passTime: (ms: number) => clock.advance(ms),
    report: <T>(path: string): Promise<T> => rig.report<T>(path),
    /** The denial reasons of responses with this usage. */
    denials: async (...uses: Used[]): Promise<string[]> => {
      const denied: string[] = [];
      for (used of uses) {
        const response = await ask(rig.sidecar.proxyPort, { method: 'POST', path: '/v1/chat/completions' });
        const reasons = String(response.headers['x-platform-policy-violations'] ?? '');
        expect(response.status).toBe(mode === 'enforce' && reasons !== '' ? 403 : 200);
        denied.push(reasons);
        const isComplete = async (): Promise<boolean> =>
          (await rig.report<AuditEntry[]>('/audit')).every(({ outcome }) => outcome !== undefined);
        // The tokens are counted when the entry is complete.
        while (!(await isComplete())) continue;
      }
      return denied;
    },
    policyIssues: async (): Promise<string[]> => {
      const { issues } = await rig.report<{ issues: { property: string }[] }>('/gap');
      return issues.map(({ property }) => property).filter((property) => property.startsWith('policy.'));
    },
    responsesWithoutUsage: async (): Promise<number> => {
      const metrics = await (await rig.control('/metrics')).text();
      return Number(/answers_without_usage_total (\d+)/.exec(metrics)?.[1]);
    },
    tokensToday: async (instances: 'this' | 'others' = 'this'): Promise<number> => {
      const metrics = await (await rig.control('/metrics')).text();
      return Number(new RegExp(`tokens_today\\{instances="${instances}"\\} (\\d+)`).exec(metrics)?.[1]);
    },
  };
}

inEachSetting(
  'a token budget',
  (setting) => {
    const { denials, passTime, policyIssues, report, tokensToday, responsesWithoutUsage } = budget(
      setting,
      LIMITED,
    );

    test('denies requests after the budget is used up, until midnight UTC', async () => {
      expect(await denials({ prompt: 60, completion: 39 }, { prompt: 1, completion: 0 })).toEqual(['', '']);
      expect(await policyIssues()).toEqual([`policy.${TOKENS}`]);
      // Blocked responses are counted too.
      expect(await denials({ prompt: 5, completion: 5 }, { prompt: 5, completion: 5 })).toEqual([
        TOKENS,
        TOKENS,
      ]);
      expect(await tokensToday()).toBe(120);
      passTime(3_600_000 - 1);
      expect(await denials({ prompt: 0, completion: 0 })).toEqual([TOKENS]);
      passTime(1);
      expect([await tokensToday(), await policyIssues()]).toEqual([0, []]);
      expect(await denials({ prompt: 1, completion: 0 })).toEqual(['']);
    });

    test('does not count responses that cannot be read, and reports their number', async () => {
      const responses = [null, { prompt: 99, completion: 0 }, null, { prompt: 1, completion: 0 }];
      expect(await denials(...responses)).toEqual(['', '', '', '']);
      const entries = await report<AuditEntry[]>('/audit');
      expect(entries.map(({ usage }) => usage && 'unavailable' in usage)).toEqual([true, false, true, false]);
      expect(await report('/usage')).toMatchObject({ totalTokens: 100, sampleSize: 2, callsWithoutUsage: 2 });
      expect(await denials(null)).toEqual([TOKENS]);
      expect(await responsesWithoutUsage()).toBe(3);
    });
  },
  LIMITED,
);

inEachSetting(
  'a budget shared with other instances',
  (setting) => {
    const { denials, passTime, tokensToday } = budget(setting, LIMITED, { tokens: 98, costUsd: 0 });

    test('denies when all instances together have used it up, and is reset at midnight', async () => {
      while ((await tokensToday('others')) !== 98) continue;
      const responses = [
        { prompt: 1, completion: 0 },
        { prompt: 1, completion: 0 },
        { prompt: 0, completion: 0 },
      ];
      expect(await denials(...responses)).toEqual(['', '', TOKENS]);
      passTime(3_600_000);
      expect([await tokensToday('others'), await denials({ prompt: 1, completion: 0 })]).toEqual([0, ['']]);
    });
  },
  LIMITED,
);

inEachSetting(
  'a cost budget',
  (setting) => {
    const { denials, passTime, policyIssues } = budget(setting, PRICED);

    test('denies when the day has cost a thirtieth of the monthly budget', async () => {
      // 0.4 + 0.599992 dollars, then the missing 0.000008.
      const responses = [
        { prompt: 200_000, completion: 74_999 },
        { prompt: 0, completion: 1 },
        { prompt: 0, completion: 0 },
      ];
      expect(await denials(...responses)).toEqual(['', '', COST]);
      expect(await policyIssues()).toEqual([`policy.${COST}`]);
      passTime(3_600_000);
      expect(await denials({ prompt: 0, completion: 0 })).toEqual(['']);
    });
  },
  PRICED,
);

inEachSetting(
  'a cost budget without a price',
  (setting) => {
    const { denials, policyIssues } = budget(setting, UNPRICED);

    test('denies nothing', async () => {
      expect(await denials({ prompt: 9e6, completion: 9e6 }, { prompt: 1, completion: 1 })).toEqual(['', '']);
      expect(await policyIssues()).toEqual([]);
    });
  },
  UNPRICED,
);
