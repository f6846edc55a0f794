import { describe, expect, test } from '@jest/globals';
import { lineOf, projectionsOf, ratioOf, renderSteps, type Step } from './control-plane-report.ts';

const NONE = { count: 0, totalMs: 0, slow: 0 };
const step = (agents: number, overrides: Partial<Step> = {}): Step => ({
  target: 'control plane',
  ...{ agents, replicas: 1, accepted: 2 * agents, errors: {} },
  ...{ cores: 0.1 + agents / 20_000, neighbours: { PostgreSQL: agents / 50_000 }, rssMb: 100 + agents / 100 },
  ...{ p50Ms: 2, p99Ms: 9.5, connectP99Ms: 3.5, lateMs: 0.4 },
  reviews: { request: NONE, renewal: NONE },
  ...overrides,
});
const STEPS = [step(2500), step(5000), step(10_000)];

test.each([
  [[], null],
  [[{ x: 1, y: 1 }], null],
  [
    [
      { x: 1, y: 1 },
      { x: 1, y: 2 },
    ],
    null,
  ],
  [
    [
      { x: 0, y: 1 },
      { x: 10, y: 6 },
    ],
    { base: 1, slope: 0.5 },
  ],
])('the line through %j', (points, line) => {
  expect(lineOf(points)).toEqual(line);
});

describe('the report', () => {
  test('extrapolates each replica by its share of the agents, and the database by all agents', () => {
    const found = projectionsOf(STEPS).map(({ what, unit, agents, value }) => [
      ...[what, unit, Math.round(agents)],
      Number(value.toFixed(3)),
    ]);
    expect(found).toEqual([
      ['each replica', 'cores', 33_333, 1.767],
      ['each replica', 'MB', 33_333, 433.333],
      ['PostgreSQL', 'cores', 100_000, 2],
    ]);
  });

  test('counts the agents of one replica if several were measured', () => {
    const three = [3000, 6000].map((agents) => step(agents, { replicas: 3, cores: 0.3 + agents / 10_000 }));
    expect(projectionsOf(three)[0]).toMatchObject({
      what: 'each replica',
      line: { base: expect.closeTo(0.1, 6), slope: expect.closeTo(0.0001, 6) },
    });
  });

  test('compares with the bare route only at the same number of agents', () => {
    const bare = step(10_000, { target: 'bare route', cores: 0.3 });
    expect(ratioOf(STEPS)).toBeNull();
    expect(ratioOf([...STEPS, bare])).toBeCloseTo(2);
    expect(ratioOf([step(5000), bare])).toBeNull();
  });

  test('shows errors by kind and the arithmetic', () => {
    const lines = renderSteps([step(2500), step(5000, { errors: { 503: 4, ECONNRESET: 1 } })]).split('\n');
    expect(lines[0]).toMatch(/ agents +replicas +heartbeats +errors +cores +RSS MB .* PostgreSQL, cores$/);
    expect(lines[2]).toMatch(
      /^control plane +5000 +1 +10000 +5 +0\.350 +150 +2\.0 +9\.5 +3\.5 +0\.4 +0\.100$/,
    );
    expect(lines).toContain('control plane, 5000 agents: 4 × 503');
    expect(lines).toContain('  each replica: 0.100 + 33.3 × 0.0500 per 1,000 agents = 1.767 cores');
  });

  test('shows the TokenReviews of a number of agents', () => {
    const reviews = { request: { count: 3, totalMs: 60, slow: 1 }, renewal: NONE };
    const lines = renderSteps([step(2500, { reviews })]).split('\n');
    expect(lines).toContain(
      'control plane, 2500 agents: 3 TokenReviews that heartbeats waited for: mean 20.0 ms, 1 above 50 ms',
    );
  });

  test('has no extrapolation of one number of agents', () => {
    expect(renderSteps([step(2500)])).toContain('no extrapolation');
  });
});
