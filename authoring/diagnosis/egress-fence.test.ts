import { describe, expect, test } from '@jest/globals';
import { fenceOfCiliumPolicy, fenceOfNetworkPolicy, isFenced } from './egress-fence.ts';

const POD = { namespace: 'team', labels: { app: 'chat', tier: 'agent' } };
const DNS = { to: [{ namespaceSelector: {} }], ports: [{ port: 53 }] };

const identity = { namespace: 'team', name: 'fence' };
const network = (spec: object, namespace = 'team') => fenceOfNetworkPolicy({ ...identity, namespace }, spec);
const cilium = (spec: object) => fenceOfCiliumPolicy(identity, spec);

describe('a pod is fenced by', () => {
  test.each<[string, ReturnType<typeof network>[], boolean]>([
    ['no policy', [], false],
    ['a policy for its namespace', [network({ podSelector: {}, policyTypes: ['Egress'] })], true],
    ['a policy of another namespace', [network({ policyTypes: ['Egress'] }, 'other')], false],
    ['a policy for incoming connections', [network({ podSelector: {}, policyTypes: ['Ingress'] })], false],
    ['rules without policyTypes', [network({ podSelector: {}, egress: [DNS] })], true],
    ['a rule that allows every address', [network({ podSelector: {}, egress: [DNS, {}] })], false],
    [
      'a limit, and another policy that allows every address',
      [network({ egress: [DNS] }), network({ egress: [{ ports: [{ port: 443 }] }] })],
      false,
    ],
    ['its labels', [network({ podSelector: { matchLabels: { app: 'chat' } }, egress: [DNS] })], true],
    ['other labels', [network({ podSelector: { matchLabels: { app: 'shop' } }, egress: [DNS] })], false],
    ...(
      [
        ['In', ['agent'], true],
        ['In', ['web'], false],
        ['NotIn', ['web'], true],
        ['NotIn', ['agent'], false],
        ['Exists', [], true],
        ['DoesNotExist', [], false],
        ['Unknown', [], false],
      ] as const
    ).map(([operator, values, expected]): [string, ReturnType<typeof network>[], boolean] => [
      `the expression ${operator} ${values.join()}`,
      [network({ podSelector: { matchExpressions: [{ key: 'tier', operator, values }] }, egress: [DNS] })],
      expected,
    ]),
    [
      'names with Cilium',
      [
        cilium({
          endpointSelector: { matchLabels: { 'k8s:app': 'chat' } },
          egress: [{ toFQDNs: [{ matchName: 'api.openai.com' }], toPorts: [{ ports: [{ port: '443' }] }] }],
        }),
      ],
      true,
    ],
    ['the world with Cilium', [cilium({ egress: [{ toEntities: ['world'] }] })], false],
    ['only ports with Cilium', [cilium({ egress: [{ toPorts: [{ ports: [{ port: '443' }] }] }] })], false],
    ['an empty rule with Cilium, which allows nothing', [cilium({ egress: [{}] })], true],
    ['a Cilium policy for incoming connections', [cilium({ ingress: [{}] })], false],
  ])('%s', (_, policies, expected) => {
    expect(
      isFenced(
        POD,
        policies.filter((policy) => policy !== null),
      ),
    ).toBe(expected);
  });

  test('nothing, if the object is invalid', () => {
    for (const spec of [null, 'text', { egress: 'text' }])
      expect([fenceOfNetworkPolicy(identity, spec), fenceOfCiliumPolicy(identity, spec)]).toEqual([
        null,
        null,
      ]);
  });
});
