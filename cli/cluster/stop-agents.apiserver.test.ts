// platform stop and platform resume with a kubeconfig, against a real API server. A write to the status of an AgentObservation
// takes the part of the control plane.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { parse } from 'yaml';
import { whyNoControlPlane } from '../../e2e/cluster/control.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { ApiCluster, creationOf, rejectionIn, type AnyObject } from '../../testing/cluster/api-cluster.ts';
import { until } from '../../testing/time/until.ts';
import { runCommandLine } from '../program.ts';
import type { Rendered } from '../rendered.ts';

jest.setTimeout(120_000);

const STOPS = '/apis/platform.io/v1/agentstops';
const TEAM = '/apis/platform.io/v1/namespaces/team';
const PODS = '/api/v1/namespaces/team/pods';

interface Stop {
  metadata: { namespace: string; name: string };
  spec: Record<string, unknown>;
}
interface Pod {
  metadata: { name: string; annotations?: Record<string, string> };
}

(whyNoControlPlane() ? describe.skip : describe)('with a cluster', () => {
  let cluster: ApiCluster;

  const platform = (args: string, kubeconfig = cluster.control.kubeconfig): Promise<Rendered> =>
    runCommandLine([...args.split(' '), '--kubeconfig', kubeconfig], {
      ...{ env: {}, cwd: '/', now: () => new Date(), color: false, ask: null },
    });
  const stops = async (): Promise<Stop[]> => (await cluster.get<{ items: Stop[] }>(STOPS)).items;
  const specs = async () => (await stops()).map(({ metadata, spec }) => [metadata.namespace, spec]);
  const annotations = async (): Promise<Record<string, string | undefined>> => {
    const { items } = await cluster.get<{ items: Pod[] }>(PODS);
    return Object.fromEntries(
      items.map(({ metadata: { name, annotations: all = {} } }) => [name, all['platform.io/stop']]),
    );
  };
  const observe = (name: string, status: object): Promise<unknown> =>
    cluster.patch(`${TEAM}/agentobservations/${name}/status`, { status });

  beforeAll(async () => {
    cluster = await ApiCluster.start();
    await cluster.define('agentobservations', 'agentstops');
    await cluster.namespaces('team', 'other', 'platform-system');
    for (const [namespace, name] of [
      ['team', 'shop'],
      ['team', 'cart'],
      ['other', 'cart'],
    ])
      await cluster.post(`/apis/platform.io/v1/namespaces/${namespace}/agentobservations`, {
        ...{ apiVersion: 'platform.io/v1', kind: 'AgentObservation', metadata: { name } },
        spec: { source: 'remote' },
      });
    for (const [name, agent] of [
      ['shop-1', 'shop'],
      ['shop-2', 'shop'],
      ['cart-1', 'cart'],
    ])
      await cluster.post(PODS, {
        metadata: { name, labels: { 'platform.io/agent': agent } },
        spec: { containers: [{ name: 'agent', image: 'agent' }] },
      });
  });
  afterAll(() => cluster?.close());
  afterEach(async () => {
    for (const { metadata } of await stops())
      await cluster.remove(
        `/apis/platform.io/v1/namespaces/${metadata.namespace}/agentstops/${metadata.name}`,
      );
  });

  test('an agent is stopped and resumed', async () => {
    const { output, exitCode } = await platform('stop shop --reason leak --for 2h --wait 0s --json');
    expect(exitCode).toBe(0);
    const [stop] = await stops();
    expect(stop?.metadata.namespace).toBe('team');
    expect(stop?.spec).toEqual({
      ...{ agents: ['shop'], reason: 'leak', until: expect.any(String), by: expect.any(String) },
    });
    // The name that the API server gives its administrator.
    expect(stop?.spec['by']).not.toBe('');
    const id = `team/${stop?.metadata.name}`;
    expect(JSON.parse(output)).toMatchObject({ stops: [{ id, stored: true }], confirmed: null });
    expect((await platform('stop --list')).output).toContain(`${id}  team        shop    leak`);
    expect(await platform('resume shop')).toMatchObject({ output: `deleted ${id}: leak\n`, exitCode: 0 });
    expect(await stops()).toEqual([]);
  });

  test.each<[args: string, namespace: string, spec: object]>([
    ['-n team', 'team', {}],
    ['-n platform-system', 'platform-system', { namespaces: ['platform-system'] }],
    ['-n team -n other', 'platform-system', { namespaces: ['team', 'other'] }],
    ['cart -n prod-*', 'platform-system', { namespaces: ['prod-*'], agents: ['cart'] }],
    ['--all --yes', 'platform-system', {}],
  ])('stop %s', async (args, namespace, spec) => {
    expect((await platform(`stop ${args} --reason leak --wait 0s`)).exitCode).toBe(0);
    const by = expect.any(String);
    expect(await specs()).toEqual([[namespace, { ...spec, reason: 'leak', by }]]);
    const [stop] = await stops();
    const { exitCode } = await platform(`resume ${stop?.metadata.namespace}/${stop?.metadata.name}`);
    expect([exitCode, await stops()]).toEqual([0, []]);
  });

  test('waits until every instance has confirmed', async () => {
    const stop = { id: 'team/x', reason: 'leak', since: '2026-01-02T03:04:05Z', instances: 2 };
    const condition = { type: 'Stopped', message: '-', lastTransitionTime: '2026-01-02T03:04:05Z' };
    const stopping = {
      ...{ phase: 'Healthy', instanceCount: 2, stop: { ...stop, confirmed: 1 } },
      conditions: [{ ...condition, status: 'Unknown', reason: 'Stopping' }],
    };
    await observe('shop', stopping);
    const late = await platform('stop shop --reason leak --wait 1s');
    expect(late.output).toContain('Stopping (1 of 2 instances)\n');
    expect([late.exitCode, (await stops()).length]).toEqual([1, 1]);
    const stopped = {
      stop: { ...stop, confirmed: 2 },
      conditions: [{ ...condition, status: 'True', reason: 'Stopped' }],
    };
    const waiting = platform('stop shop --reason leak --wait 1m');
    await observe('shop', stopped);
    const { output, errors, exitCode } = await waiting;
    expect(output).toContain('Stopped (2 of 2 instances)\n');
    expect([errors, exitCode]).toEqual(['', 0]);
  });

  test('--direct annotates the pods, and resume removes the annotation', async () => {
    const { output } = await platform('stop shop --reason leak --direct --wait 0s');
    expect(output).toContain('annotated 2 pods\n');
    expect(await annotations()).toEqual({ 'shop-1': 'leak', 'shop-2': 'leak', 'cart-1': undefined });
    expect((await platform('resume shop')).output).toMatch(
      /^deleted team\/stop-\w+: leak\nremoved the annotation of 2 pods\n$/,
    );
    expect(await annotations()).toEqual({ 'shop-1': undefined, 'shop-2': undefined, 'cart-1': undefined });
  });

  test('an annotation without a stop is removed if the namespace is named', async () => {
    await cluster.patch(`${PODS}/shop-1`, {
      metadata: { annotations: { 'platform.io/stop': 'by kubectl' } },
    });
    const unnamed = await platform('resume shop');
    expect(unnamed.errors).toContain('; pass --namespace if the pods have the annotation platform.io/stop;');
    expect((await platform('resume shop -n team')).output).toBe('removed the annotation of 1 pod\n');
    expect((await annotations())['shop-1']).toBeUndefined();
  });

  test('an agent that is not confirmed is annotated again', async () => {
    await observe('cart', { phase: 'Healthy', instanceCount: 1 });
    const { metadata } = await cluster.get<{ metadata: { resourceVersion: string } }>(PODS);
    const { errors, exitCode } = await platform('stop cart -n team --reason leak --direct --wait 4s');
    // Every version of the pod since then.
    const { resourceVersion } = metadata;
    const query = { watch: true, timeoutSeconds: 1, resourceVersion, fieldSelector: 'metadata.name=cart-1' };
    const stream = await cluster.client.stream({ method: 'GET', path: PODS, query });
    const text = stream.ok ? await textOf(stream.chunks) : stream.message;
    const sent = text.matchAll(/"stop\.platform\.io\/sent":"([^"]+)"/g);
    expect(new Set(Array.from(sent, ([, at]) => at)).size).toBe(2);
    expect(errors).toContain('scale the workload to 0: kubectl scale --replicas=0');
    expect(exitCode).toBe(1);
    expect((await platform('resume cart -n team')).exitCode).toBe(0);
  });

  describe('with few rights', () => {
    const rule = (group: string, resource: string, ...verbs: string[]) => ({
      ...{ apiGroups: [group], resources: [resource], verbs },
    });

    test('a user without the right gets the message and the command that permits it', async () => {
      await cluster.account('team', 'guest', { cluster: [], namespace: [] });
      const file = await cluster.kubeconfigOf('team', 'guest');
      const { errors, exitCode } = await platform('stop shop -n team --reason leak', file);
      const user = 'system:serviceaccount:team:guest';
      expect(errors).toBe(
        `error: agentstops.platform.io is forbidden: User "${user}" cannot create resource "agentstops" in API group "platform.io" in the namespace "team"; an administrator can permit it: kubectl create rolebinding stop-agents -n NAMESPACE --clusterrole agent-compliance-stop --user ${user}\n`,
      );
      expect(exitCode).toBe(1);
      const unnamed = await platform('stop shop --reason leak', file);
      expect(unnamed.errors).toContain('cannot list resource "agentobservations"');
    });

    test('a team needs only rights in its namespace', async () => {
      const rules = [rule('platform.io', 'agentstops', 'create', 'delete', 'list')];
      await cluster.account('team', 'oncall', { cluster: [], namespace: rules });
      const file = await cluster.kubeconfigOf('team', 'oncall');
      const { output, errors } = await platform('stop shop -n team --reason leak', file);
      expect(output).toMatch(/^created team\/stop-\w+\n/);
      expect(errors).toContain(
        'warning: the confirmation is unknown: agentobservations.platform.io is forbidden',
      );
      const [stop] = await stops();
      expect(stop?.spec['by']).toBe('system:serviceaccount:team:oncall');
      const resumed = await platform('resume shop -n team', file);
      expect(resumed.output).toMatch(/^deleted team\/stop-\w+: leak\n$/);
      expect(resumed.errors).toContain('the annotation of pods may remain: pods is forbidden');
      expect(await stops()).toEqual([]);
    });

    test('with --direct the rights for pods are enough', async () => {
      await cluster.account('team', 'pods', { cluster: [], namespace: [rule('', 'pods', 'list', 'patch')] });
      const file = await cluster.kubeconfigOf('team', 'pods');
      const { output, errors } = await platform('stop shop -n team --reason leak --direct --wait 0s', file);
      expect([output, (await annotations())['shop-1']]).toEqual(['annotated 2 pods\n', 'leak']);
      expect(errors).toContain('warning: agentstops.platform.io is forbidden');
      await platform('resume shop -n team');
      expect((await annotations())['shop-1']).toBeUndefined();
    });
  });

  test('the API server accepts the objects of the guide', async () => {
    await cluster.namespaces('shop-team');
    const guide = readFileSync(join(import.meta.dirname, '../../docs/guide/stop.md'), 'utf8');
    const blocks = Array.from(guide.matchAll(/^```yaml\n(.*?)^```/gms), ([, text = '']) => text);
    const objects = blocks.map((text) => parse(text) as AnyObject);
    expect(objects.map(({ kind }) => kind)).toEqual(['AgentStop', 'NetworkPolicy']);
    for (const object of objects) expect(rejectionIn(await cluster.client.send(creationOf(object)))).toBe('');
  });

  test('an API server that does not respond, and one without AgentStops', async () => {
    const [port = 0] = await freePorts(1);
    const file = await cluster.kubeconfigOf('team', 'default', { server: `https://127.0.0.1:${port}` });
    const { errors, exitCode } = await platform('stop shop -n team --reason leak', file);
    expect(errors).toMatch(
      /^error: the API server did not respond .*; --url with the address of the control plane still reaches the sidecars that are connected to it\n$/,
    );
    expect(exitCode).toBe(1);
    await cluster.remove('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/agentstops.platform.io');
    await until(async () => !(await cluster.serves(STOPS)), 'the removal of the definition');
    expect((await platform('stop shop -n team --reason leak')).errors).toContain(
      '; the cluster has no AgentStops: upgrade the chart, or scale the workload to 0: kubectl scale --replicas=0',
    );
    await cluster.define('agentstops');
  });
});
