import { expect, test } from '@jest/globals';
import { assess } from '../../core/gap/assess.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { aManifest, NOON, someFacts } from '../../testing/fleet/facts.ts';
import { SteppingClock } from '../../testing/time/stepping-clock.ts';
import { readConfig } from '../config.ts';
import { createLlmAnalysis } from './create-llm-analysis.ts';

function create(env: Record<string, string>) {
  const read = readConfig(env);
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const log: unknown[] = [];
  const note = (message: string, fields?: object): void => void log.push([message, fields]);
  const { analysis, review } = createLlmAnalysis({
    config: read.config,
    clock: new SteppingClock(NOON.toISOString()),
    logger: { ...silentLogger, info: note, warn: note },
    signal: new AbortController().signal,
  });
  const [manifest, facts] = [aManifest(), someFacts()];
  const gap = assess(manifest, facts);
  return { analysis, gap, log, reviewed: review(manifest, facts, gap) };
}

test.each([
  [{}],
  [{ OPENAI_API_KEY: 'sk-of-the-agent' }],
  [{ ANTHROPIC_API_KEY: 'k', LLM_ANALYSIS_PROVIDER: 'off' }],
])('is off without a log entry for %j', (env: Record<string, string>) => {
  const { analysis, gap, log, reviewed } = create(env);
  expect([analysis, log]).toEqual([null, []]);
  expect(reviewed.gap).toBe(gap);
  expect(reviewed.llm).toEqual({ status: 'off', model: null, analysedAt: null, reason: null });
});

test.each<[string, Record<string, string>, RegExp]>([
  ['the key is missing', { LLM_ANALYSIS_PROVIDER: 'openai-api' }, /^OPENAI_API_KEY is not set$/],
  ['the key is not one line', { ANTHROPIC_API_KEY: 'sk a\nb' }, /^ANTHROPIC_API_KEY=\[secret\]: must be/],
  [
    'the address is not valid',
    { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'ftp://llm' },
    /^ANTHROPIC_BASE_URL=ftp:\/\/llm: must be/,
  ],
  [
    'the model is missing',
    { LLM_ANALYSIS_PROVIDER: 'openai-compatible', PLATFORM_LLM_API_KEY: 'k' },
    /PLATFORM_LLM_MODEL is not/,
  ],
])('is off and names the reason if %s', (_what, env, reason) => {
  const { analysis, log, reviewed } = create(env);
  expect(analysis).toBeNull();
  expect(reviewed.llm).toMatchObject({ status: 'off', reason: expect.stringMatching(reason) });
  expect(log).toEqual([['LLM analysis off', expect.objectContaining({ reason: reviewed.llm.reason })]]);
});

test('is on with a key, also with the line feed of a Secret, and logs no key', () => {
  const { analysis, log, reviewed } = create({ ANTHROPIC_API_KEY: 'sk-secret\n', PLATFORM_LLM_MODEL: 'm-1' });
  expect(analysis).not.toBeNull();
  expect(reviewed.llm.status).toBe('pending');
  expect(log).toEqual([
    ['LLM analysis on', expect.objectContaining({ provider: 'anthropic-api', model: 'm-1' })],
  ]);
  expect(JSON.stringify(log)).not.toContain('sk-secret');
});
