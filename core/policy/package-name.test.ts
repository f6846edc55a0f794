import { describe, expect, test } from '@jest/globals';
import { denyPathOf, packageOf } from './package-name.ts';

describe('package of an agent', () => {
  test.each([
    ['fitness-tracker', 'platform.agent.fitness_tracker', 'fitness_tracker'],
    ['a', 'platform.agent.a', 'a'],
    ['a--b-c', 'platform.agent.a__b_c', 'a__b_c'],
    ['3d-agent', 'platform.agent["3d_agent"]', '3d_agent'],
    ['1-000', 'platform.agent["1_000"]', '1_000'],
    ['1e9', 'platform.agent["1e9"]', '1e9'],
    ['42', 'platform.agent._42', '_42'],
    ['007', 'platform.agent._007', '_007'],
    ['in', 'platform.agent["in"]', 'in'],
    ['contains', 'platform.agent["contains"]', 'contains'],
    ['not-in', 'platform.agent.not_in', 'not_in'],
    ['input', 'platform.agent.input', 'input'],
    ['data', 'platform.agent.data', 'data'],
  ])('of %s is %s, and its path segment is %s', (agentName, name, segment) => {
    expect(packageOf(agentName)).toBe(name);
    expect(denyPathOf(agentName)).toBe(`/v1/data/platform/agent/${segment}/deny`);
  });
});
