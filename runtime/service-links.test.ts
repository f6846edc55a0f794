import { expect, test } from '@jest/globals';
import { CONTROL_PLANE_FIELDS, readConfig as readControlPlane } from '../control-plane/config.ts';
import { OPERATOR_FIELDS, readConfig as readOperator } from '../operator/config.ts';
import { readConfig as readSidecar, SIDECAR_FIELDS } from '../sidecar/config.ts';
import { readConfig as readWebhook, WEBHOOK_FIELDS } from '../webhook/config.ts';
import { withoutServiceLinks, type Environment } from './env.ts';

const LINKS = /_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/;
const linkNames = (fields: object): string[] => Object.keys(fields).filter((name) => LINKS.test(name));

interface Part {
  part: string;
  fields: object;
  /** Its variables that a Service can set. */
  names: string[];
  readConfig: (env: Environment) => unknown;
  env?: Environment;
}

const PARTS: readonly Part[] = [
  {
    part: 'sidecar',
    fields: SIDECAR_FIELDS,
    names: ['PROXY_PORT', 'CONTROL_PLANE_PORT', 'OTLP_PORT', 'EGRESS_PORT', 'EGRESS_CONNECT_PORT'],
    readConfig: readSidecar,
    env: { EGRESS_LANES: 'openai=https://api.openai.com/v1', EGRESS_CONNECT: 'log' },
  },
  {
    part: 'control plane',
    fields: CONTROL_PLANE_FIELDS,
    // The chart sets enableServiceLinks: false, so this is always the API server.
    names: ['KUBERNETES_SERVICE_HOST'],
    readConfig: readControlPlane,
  },
  { part: 'operator', fields: OPERATOR_FIELDS, names: ['CONTROL_PLANE_PORT'], readConfig: readOperator },
  {
    part: 'webhook',
    fields: WEBHOOK_FIELDS,
    names: ['CONTROL_PLANE_PORT'],
    readConfig: readWebhook,
    env: { SIDECAR_IMAGE: 'sidecar:1' },
  },
];

test.each(PARTS)(
  'no Service changes the configuration of the $part',
  ({ fields, names, readConfig, env }) => {
    expect(linkNames(fields)).toEqual(names);
    const expected = readConfig({ ...env });
    expect(expected).toMatchObject({ ok: true });
    const ports = names.filter((name) => name.endsWith('_PORT'));
    for (const value of ['tcp://10.96.0.7:4318', 'udp://10.96.0.7:53', 'tcp://[fd00::7]:80']) {
      const links = Object.fromEntries(ports.map((name) => [name, value]));
      expect(readConfig(withoutServiceLinks({ ...env, ...links }))).toEqual(expected);
    }
  },
);

test('removes only the variables of links that end with _PORT', () => {
  const others = { PORT: 'tcp://10.96.0.7:80', A_PORT: '80', B_PORT: 'tcp://x', C_URL: 'tcp://10.96.0.7:80' };
  expect(withoutServiceLinks({ ...others, D_PORT: 'sctp://10.96.0.7:80' })).toEqual(others);
});
