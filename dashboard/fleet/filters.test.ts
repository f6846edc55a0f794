import { describe, expect, test } from '@jest/globals';
import { agentItem } from '../../testing/fleet/agent-item.ts';
import type { AgentRow } from '../../core/shapes/agent-row.ts';
import {
  DEFAULTS,
  hasConditions,
  matchesOf,
  parseFilters,
  queryOf,
  withoutConditions,
  type Filters,
} from './filters.ts';

describe('the address of the fleet', () => {
  test.each<[string, Partial<Filters>]>([
    ['', {}],
    ['q=a+b', { search: 'a b' }],
    ['grade=D%2CF', { grades: ['D', 'F'] }],
    ['phase=Healthy', { phases: ['Healthy'] }],
    ['namespace=shop', { namespace: 'shop' }],
    ['failing=1', { isFailingOnly: true }],
    ['stopped=1', { isStoppedOnly: true }],
    ['sort=-score', { isDescending: true }],
    ['sort=lastSeen', { sort: 'lastSeen' }],
    ['group=namespace', { isGrouped: true }],
    [
      'q=x&grade=A&phase=Unknown&namespace=n&failing=1&sort=-cost&group=namespace',
      {
        search: 'x',
        grades: ['A'],
        phases: ['Unknown'],
        namespace: 'n',
        isFailingOnly: true,
        sort: 'cost',
        isDescending: true,
        isGrouped: true,
      },
    ],
  ])('%j is read and written', (query, filters) => {
    expect(parseFilters(new URLSearchParams(query))).toEqual({ ...DEFAULTS, ...filters });
    expect(queryOf({ ...DEFAULTS, ...filters }).toString()).toBe(query);
  });

  test('ignores what does not exist', () => {
    const query = 'grade=Z,A,a&phase=&namespace=&failing=yes&sort=-shoe&group=color&other=1';
    expect(parseFilters(new URLSearchParams(query))).toEqual({ ...DEFAULTS, grades: ['A'] });
  });

  test('can lose its conditions and keep its order', () => {
    const all = parseFilters(
      new URLSearchParams('q=x&grade=A&phase=Unknown&namespace=n&failing=1&sort=-cost'),
    );
    expect(hasConditions(all)).toBe(true);
    expect(withoutConditions(all)).toEqual({ ...DEFAULTS, sort: 'cost', isDescending: true });
    expect(hasConditions(withoutConditions(all))).toBe(false);
  });
});

const FLEET: AgentRow[] = [
  agentItem({ agentName: 'support', namespace: 'shop', agentId: 'agt_77' }),
  agentItem({ agentName: 'search', namespace: 'shop', grade: 'F', score: 20, phase: 'Unhealthy' }),
  agentItem({ agentName: 'support', namespace: 'lab', grade: 'B', phase: 'Degraded', stop: 'IngressOnly' }),
  agentItem({
    agentName: 'new',
    namespace: 'lab',
    grade: null,
    score: null,
    phase: 'Pending',
    compliant: { status: 'Unknown', reason: '', message: '' },
  }),
];

describe('the filters', () => {
  test.each<[string, Partial<Filters>, string[]]>([
    ['nothing', {}, ['shop/support', 'shop/search', 'lab/support', 'lab/new']],
    ['a part of a name', { search: 'sea' }, ['shop/search']],
    ['words in any order and case', { search: ' SUPPORT  lab ' }, ['lab/support']],
    ['namespace and name as shown', { search: 'lab/s' }, ['lab/support']],
    ['an id', { search: 'agt_77' }, ['shop/support']],
    ['a grade', { grades: ['F'] }, ['shop/search']],
    ['grades', { grades: ['A', 'B'] }, ['shop/support', 'lab/support']],
    ['phases', { phases: ['Pending', 'Degraded'] }, ['lab/support', 'lab/new']],
    ['a namespace', { namespace: 'lab' }, ['lab/support', 'lab/new']],
    ['failures', { isFailingOnly: true }, ['shop/search']],
    ['stopped agents', { isStoppedOnly: true }, ['lab/support']],
    ['all conditions together', { search: 's', grades: ['A', 'F'], isFailingOnly: true }, ['shop/search']],
    ['nothing that exists', { search: 'none' }, []],
  ])('find %s', (_title, given, found) => {
    const { agents } = matchesOf(FLEET, { ...DEFAULTS, ...given });
    expect(agents.map(({ namespace, agentName }) => `${namespace}/${agentName}`)).toEqual(found);
  });

  test('count what each grade and phase would show', () => {
    const { grades, phases } = matchesOf(FLEET, { ...DEFAULTS, grades: ['F'] });
    expect(grades).toEqual({ A: 1, B: 1, C: 0, D: 0, F: 1 });
    expect(phases).toEqual({ Pending: 0, Healthy: 0, Degraded: 0, Unhealthy: 1, Unknown: 0 });
  });
});
