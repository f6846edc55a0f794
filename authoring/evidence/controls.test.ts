import { describe, expect, test } from '@jest/globals';
import { RULE_IDS } from '../../core/audit/rules.ts';
import { controlsOf, rowsOf, type Control, type ControlInputs } from './controls.ts';
import { CROSSWALK, issueRowOf, type FrameworkId } from './crosswalk.ts';

const ROWS = [...CROSSWALK.rules, ...CROSSWALK.issues, ...CROSSWALK.capabilities];
const FRAMEWORK_IDS = Object.keys(CROSSWALK.frameworks) as (keyof typeof CROSSWALK.frameworks)[];

describe('the crosswalk', () => {
  test.each(FRAMEWORK_IDS)('%s has each id once, and each id that a row names', (framework) => {
    const ids = CROSSWALK.frameworks[framework].entries.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const named = ROWS.flatMap(({ maps }) => (maps[framework] ?? []).map(({ id }) => id));
    expect(named.filter((id) => !ids.includes(id))).toEqual([]);
  });

  test.each(FRAMEWORK_IDS)(
    '%s: each control is mapped by a row, or has a reason why it is not',
    (framework) => {
      for (const { id, mappedBy = [], reason } of CROSSWALK.frameworks[framework].entries) {
        const by = ROWS.flatMap(({ id: row, maps }) =>
          (maps[framework] ?? []).some((map) => map.id === id) ? [row] : [],
        );
        expect({ id, by: by.toSorted() }).toEqual({ id, by: mappedBy.toSorted() });
        expect({ id, isUnassessed: by.length === 0 }).toEqual({ id, isUnassessed: reason !== undefined });
      }
    },
  );

  test('has a row for every rule', () => {
    expect(CROSSWALK.rules.map(({ id }) => id).toSorted()).toEqual(RULE_IDS.toSorted());
  });

  test.each([
    ['tools.undeclared.delete_all', 'tools.undeclared.<name>'],
    ['tool:search', 'tool:<name>'],
    ['guardrails.input.prompt-injection', 'guardrails.input.prompt-injection'],
    ['guardrails.output.pii-detector', 'guardrails.<where>.pii-detector'],
    ['guardrails.output.toxicity-filter', 'guardrails.output.<other type>'],
    ['guardrails.unreported', 'guardrails.unreported'],
    ['model.undeclared.vendor/a.b', 'model.undeclared.<id>'],
    ['guardrails.input.toxicity-filter', undefined],
    ['serving.errors', undefined],
  ])('the row of the issue %s is %s', (property, row) => {
    expect(issueRowOf(property)?.id).toBe(row);
  });
});

const NOTHING: ControlInputs = { rules: new Map(), openIssues: [], capabilities: new Map() };

function controls(framework: FrameworkId, inputs: Partial<ControlInputs>): Control[] {
  const found = controlsOf(rowsOf({ ...NOTHING, ...inputs })).find(({ id }) => id === framework);
  return found?.controls ?? [];
}

const control = (framework: FrameworkId, id: string, inputs: Partial<ControlInputs>): Control | undefined =>
  controls(framework, inputs).find((each) => each.id.startsWith(id));

const shown = { state: 'shown', detail: 'requests show it' } as const;
const declared = { state: 'declared', detail: 'the manifest declares it' } as const;

describe('the state of a control', () => {
  test.each<[state: string, inputs: Partial<ControlInputs>, reason: RegExp]>([
    ['nothing seen', {}, /^no issue and no other evidence$/],
    [
      'not declared',
      { rules: new Map([['SEC-LLM-01', { ...declared, state: 'not declared' }]]) },
      /^SEC-LLM-01: /,
    ],
    ['declared', { rules: new Map([['SEC-LLM-01', declared]]) }, /^SEC-LLM-01: the manifest declares it$/],
    ['shown', { rules: new Map([['SEC-LLM-01', shown]]) }, /^SEC-LLM-01: requests show it$/],
    [
      'contradicted',
      { rules: new Map([['SEC-LLM-01', shown]]), openIssues: ['guardrails.input.prompt-injection'] },
      /the issue guardrails\.input\.prompt-injection is open$/,
    ],
    [
      'nothing seen',
      { rules: new Map([['SEC-LLM-01', { state: 'suppressed', detail: 'accepted by the board' }]]) },
      /^suppressed: SEC-LLM-01: accepted by the board$/,
    ],
  ])('is %s (row %#)', (state, inputs, reason) => {
    expect(control('owaspLlm2026', 'LLM01:2026', inputs)).toMatchObject({
      state,
      id: 'LLM01:2026 (LLM01:2025)',
      title: 'Prompt Injection',
      reason: expect.stringMatching(reason),
    });
  });

  test('is not assessed, with the reason of the crosswalk, if no row is about it', () => {
    expect(control('owaspAsi2026', 'ASI07', { rules: new Map([['SEC-LLM-01', shown]]) })).toMatchObject({
      state: 'not assessed',
      reason: 'messages between agents are not inspected',
      evidence: [],
    });
  });

  test('is not contradicted by an issue that only supports it', () => {
    const openIssues = ['guardrails.output.toxicity-filter', 'policy.toxicity_threshold_exceeded'];
    expect(control('owaspAsi2026', 'ASI01', { openIssues })?.state).toBe('nothing seen');
    expect(control('owaspLlm2026', 'LLM10:2026', { openIssues })?.state).toBe('contradicted');
  });

  test('is at most declared if every row only supports it, whatever the rows show', () => {
    for (const state of ['shown', 'contradicted'] as const) {
      const rows = rowsOf(NOTHING).map((row) => ({ ...row, state }));
      const all = controlsOf(rows).flatMap((framework) => framework.controls);
      const supported = all.filter(({ evidence }) => evidence.every(({ fit }) => fit === 'supports'));
      const states = supported.filter(({ evidence }) => evidence.length > 0).map((each) => each.state);
      expect(states.length).toBeGreaterThan(50);
      expect(states).not.toContain(state);
      const direct = all.filter(({ evidence }) => evidence.some(({ fit }) => fit === 'direct'));
      expect(new Set(direct.map((each) => each.state))).toEqual(new Set([state]));
    }
  });

  test('is never declared by a capability of the product alone', () => {
    const capabilities = new Map([['audit-log', '12 events']]);
    expect(control('owaspAsi2026', 'ASI10', { capabilities })?.state).toBe('nothing seen');
    expect(control('euAiAct', 'Article 19', { capabilities })).toMatchObject({
      state: 'shown',
      reason: 'audit-log: 12 events',
    });
  });

  test('is not shown by a capability where a rule is about it', () => {
    const inputs = {
      capabilities: new Map([['audit-log', '12 events']]),
      rules: new Map([['MODEL-03', declared]]),
    };
    expect(control('owaspLlm2026', 'LLM06:2026', inputs)).toMatchObject({
      state: 'declared',
      reason: 'MODEL-03: the manifest declares it',
    });
  });
});

test('AIUC-1 has ids only, and no text mentions a date of the AI Act', () => {
  expect(controls('aiuc1', {}).filter(({ title }) => title !== undefined)).toEqual([]);
  const act = controlsOf(rowsOf(NOTHING)).find(({ id }) => id === 'euAiAct');
  expect(JSON.stringify(act)).not.toMatch(/20(?:2[5-9]|3\d)-\d\d/);
});
