import { expect, test } from '@jest/globals';
import { configOf } from '../testing/cluster/operator-config.ts';
import { VERSION } from '../runtime/version.ts';
import { namespacesWithoutInjection, installedOf, readConfig } from './config.ts';

test('returns the documented defaults for an empty environment', () => {
  expect(readConfig({})).toEqual({
    ok: true,
    config: expect.objectContaining({
      LOG_LEVEL: 'info',
      LOG_FORMAT: null,
      PORT: 8081,
      POD_NAMESPACE: null,
      POD_NAME: null,
      LEADER_ELECT: true,
      GUARD_POLICY: null,
      WAKE_CONTROLLERS: true,
      EXCLUDED_NAMESPACES: null,
      CANARY_NAMESPACE: null,
      CANARY_SERVICE_ACCOUNT: 'agent-compliance-canary',
      CANARY_POLICY: null,
      CANARY_SECONDS: 60,
      WEBHOOK_CONFIGURATION: 'agent-compliance',
      WEBHOOK_DEPLOYMENT: 'agent-compliance-webhook',
      SIDECAR_IMAGE: null,
      KUBECONFIG: null,
    }),
  });
});

test('reports every invalid variable with its value and the accepted values', () => {
  expect(
    readConfig({
      PORT: '0',
      POD_NAMESPACE: 'a.b',
      POD_NAME: 'A_1',
      LEADER_ELECT: 'yes',
      GUARD_POLICY: 'Guard!',
      WAKE_CONTROLLERS: '1',
      EXCLUDED_NAMESPACES: 'kube-system, A_1',
      CANARY_NAMESPACE: 'a.b',
      CANARY_POLICY: 'Canary!',
      CANARY_SECONDS: '0',
      LOG_LEVEL: 'loud',
      LOG_FORMAT: 'xml',
    }),
  ).toEqual({
    ok: false,
    problems: [
      { name: 'LOG_LEVEL', value: 'loud', wanted: 'one of error, warn, info, debug (default info)' },
      { name: 'LOG_FORMAT', value: 'xml', wanted: 'one of json, text, or unset' },
      { name: 'PORT', value: '0', wanted: 'an integer from 1 to 65535 (default 8081)' },
      { name: 'POD_NAMESPACE', value: 'a.b', wanted: 'a namespace (a DNS label), or unset' },
      { name: 'POD_NAME', value: 'A_1', wanted: 'the name of a pod, or unset' },
      { name: 'LEADER_ELECT', value: 'yes', wanted: 'true or false (default true)' },
      {
        name: 'GUARD_POLICY',
        value: 'Guard!',
        wanted: 'the name of a ValidatingAdmissionPolicy, or unset',
      },
      { name: 'WAKE_CONTROLLERS', value: '1', wanted: 'true or false (default true)' },
      {
        name: 'EXCLUDED_NAMESPACES',
        value: 'kube-system, A_1',
        wanted: 'namespaces (DNS labels) separated by commas, or unset',
      },
      { name: 'CANARY_NAMESPACE', value: 'a.b', wanted: 'a namespace (a DNS label), or unset' },
      {
        name: 'CANARY_POLICY',
        value: 'Canary!',
        wanted: 'the name of a ValidatingAdmissionPolicy, or unset',
      },
      { name: 'CANARY_SECONDS', value: '0', wanted: 'an integer from 1 to 3600 (default 60)' },
    ],
  });
});

test('requires SIDECAR_IMAGE for a canary', () => {
  const wanted = 'an image reference, because CANARY_NAMESPACE is set';
  expect(readConfig({ CANARY_NAMESPACE: 'canary' })).toEqual({
    ok: false,
    problems: [{ name: 'SIDECAR_IMAGE', value: '(unset)', wanted }],
  });
  expect(readConfig({ CANARY_NAMESPACE: 'canary', SIDECAR_IMAGE: 'sidecar:1' }).ok).toBe(true);
});

test('uses the excluded namespaces of the chart, or the default ones', () => {
  expect(namespacesWithoutInjection(configOf({ EXCLUDED_NAMESPACES: 'a, b' }), 'system')).toEqual(['a', 'b']);
  expect(namespacesWithoutInjection(configOf({}), 'system')).toEqual(['kube-system', 'system']);
  expect(namespacesWithoutInjection(configOf({}), null)).toEqual(['kube-system']);
});

test("computes the injection record of new pods from the webhook's settings", () => {
  const env = { SIDECAR_IMAGE: 'sidecar:1' };
  const installed = installedOf(configOf(env), 'system');
  expect(installed).toMatchObject({ version: VERSION, configHash: expect.stringMatching(/^[0-9a-f]{12}$/) });
  expect(installedOf(configOf(env), 'system')).toEqual(installed);
  expect(installedOf(configOf({ ...env, POLICY_MODE: 'enforce' }), 'system')?.configHash).not.toBe(
    installed?.configHash,
  );
  expect(installedOf(configOf({}), 'system')).toBeNull();
  expect(installedOf(configOf(env), null)).toBeNull();
});
