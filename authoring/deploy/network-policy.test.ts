import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { fenceTargetsOf } from './fence-targets.ts';
import { fenceOf, fenceText } from './network-policy.ts';

function manifestOf(spec = ''): Manifest {
  const parsed = parseManifest(manifestText(spec));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  // A parsed manifest is frozen.
  return structuredClone(parsed.manifest);
}

const MANY = manifestOf(`  egress:
    hosts:
      - api.search.example
      - '*.files.example'
      - 192.0.2.7
  mcp:
    servers:
      - name: files
        transport: http
        host: files.tools.svc.cluster.local
        port: 8080
      - name: tickets
        transport: http
        url: $env:TICKETS_URL
  requires:
    services:
      - name: cache
        type: redis
        address: redis:6379
      - name: database
        type: postgres
        address: db.example:5433
      - name: local
        type: redis
        address: localhost:6379
`);

describe('the targets of a fence', () => {
  test('are the declared addresses with their ports, each once', () => {
    expect(fenceTargetsOf(MANY)).toEqual({
      targets: [
        { kind: 'name', name: 'api.openai.com', ports: [443] },
        { kind: 'service', namespace: null },
        { kind: 'name', name: 'db.example', ports: [5433] },
        { kind: 'service', namespace: 'tools' },
        { kind: 'name', name: 'api.search.example', ports: [443] },
        { kind: 'name', name: '*.files.example', ports: [443] },
        { kind: 'cidr', cidr: '192.0.2.7/32', ports: [443] },
      ],
      unresolved: ['spec.mcp.servers[1].url'],
    });
  });

  test.each([
    ['2001:db8::1', { kind: 'cidr', cidr: '2001:db8::1/128', ports: [443] }],
    ['api.data.svc', { kind: 'service', namespace: 'data' }],
    ['API.Example.', { kind: 'name', name: 'api.example', ports: [443] }],
  ])('include the host %s as %j', (host, expected) => {
    const manifest = manifestOf(`  egress:\n    hosts: ['placeholder.example']\n`);
    manifest.spec.egress = { hosts: [host] };
    expect(fenceTargetsOf(manifest).targets).toContainEqual(expected);
  });

  test('contain no model whose address differs between customers', () => {
    const manifest = manifestOf();
    manifest.spec.model.provider = 'azure';
    expect(fenceTargetsOf(manifest)).toEqual({ targets: [], unresolved: ['spec.model.provider'] });
  });
});

describe('a NetworkPolicy', () => {
  test('allows DNS, declared services and addresses, and the ports of declared names', () => {
    expect(fenceText('NetworkPolicy', MANY, { namespace: 'shop', controlPlaneNamespace: 'platform-system' }))
      .toBe(`# Egress of the agent minimal, from its manifest.
# Selects pods with the label platform.io/agent-name, which the injector and "platform generate" set.
# Allows every public address on port 443, 5433: a NetworkPolicy has no names. Needed for api.openai.com, db.example, api.search.example, *.files.example.
# The address of spec.mcp.servers[1].url is not in the manifest: add it if the agent connects to it.

apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: minimal-egress
  namespace: shop
  labels:
    platform.io/agent-name: minimal
spec:
  podSelector:
    matchLabels:
      platform.io/agent-name: minimal
  policyTypes:
    - Egress
  egress:
    - to:
        - namespaceSelector:
            matchLabels:
              kubernetes.io/metadata.name: kube-system
          podSelector:
            matchLabels:
              k8s-app: kube-dns
      ports:
        - protocol: UDP
          port: 53
        - protocol: TCP
          port: 53
    - to:
        - podSelector: {}
    - to:
        - namespaceSelector:
            matchLabels:
              kubernetes.io/metadata.name: tools
    - to:
        - ipBlock:
            cidr: 192.0.2.7/32
      ports:
        - protocol: TCP
          port: 443
    - to:
        - namespaceSelector:
            matchLabels:
              kubernetes.io/metadata.name: platform-system
    - to:
        - ipBlock:
            cidr: 0.0.0.0/0
            except:
              - 10.0.0.0/8
              - 100.64.0.0/10
              - 169.254.0.0/16
              - 172.16.0.0/12
              - 192.168.0.0/16
        - ipBlock:
            cidr: ::/0
            except:
              - fc00::/7
              - fe80::/10
      ports:
        - protocol: TCP
          port: 443
        - protocol: TCP
          port: 5433
`);
  });

  test('without names allows no public address', () => {
    const manifest = manifestOf();
    manifest.spec.model.provider = 'ollama';
    const { object, notes } = fenceOf('NetworkPolicy', manifest, { controlPlaneNamespace: null });
    expect(notes).toEqual([]);
    expect(object).toMatchObject({
      spec: { policyTypes: ['Egress'], egress: [{ ports: [{ port: 53 }, { port: 53 }] }] },
    });
  });
});

describe('a CiliumNetworkPolicy', () => {
  test('allows DNS through the proxy of Cilium and declared names only', () => {
    const text = fenceText('CiliumNetworkPolicy', MANY, { controlPlaneNamespace: null });
    expect(text).toContain('# *.files.example matches one label in place of the asterisk only.\n');
    const toPorts = (port: string) => [{ ports: [{ port, protocol: 'TCP' }] }];
    expect(parse(text)).toEqual({
      apiVersion: 'cilium.io/v2',
      kind: 'CiliumNetworkPolicy',
      metadata: { name: 'minimal-egress', labels: { 'platform.io/agent-name': 'minimal' } },
      spec: {
        endpointSelector: { matchLabels: { 'platform.io/agent-name': 'minimal' } },
        egress: [
          {
            toEndpoints: [
              {
                matchLabels: { 'k8s:io.kubernetes.pod.namespace': 'kube-system', 'k8s:k8s-app': 'kube-dns' },
              },
            ],
            toPorts: [{ ports: [{ port: '53', protocol: 'ANY' }], rules: { dns: [{ matchPattern: '*' }] } }],
          },
          { toFQDNs: [{ matchName: 'api.openai.com' }], toPorts: toPorts('443') },
          { toEndpoints: [{}] },
          { toFQDNs: [{ matchName: 'db.example' }], toPorts: toPorts('5433') },
          { toEndpoints: [{ matchLabels: { 'k8s:io.kubernetes.pod.namespace': 'tools' } }] },
          { toFQDNs: [{ matchName: 'api.search.example' }], toPorts: toPorts('443') },
          { toFQDNs: [{ matchPattern: '*.files.example' }], toPorts: toPorts('443') },
          { toCIDR: ['192.0.2.7/32'], toPorts: toPorts('443') },
        ],
      },
    });
  });
});
