import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { CONTROL_PLANE_FIELDS } from '../control-plane/config.ts';
import { OPERATOR_FIELDS } from '../operator/config.ts';
import { SIDECAR_FIELDS } from '../sidecar/config.ts';
import { COMPILE_CACHE } from '../testing/machine/compile-cache.ts';
import { WEBHOOK_FIELDS } from '../webhook/config.ts';
import type { EnvField } from './env.ts';

const ROOT = dirname(import.meta.dirname);

/** Variables that accept any text. A wrong path is reported when the path is used. */
const ANY_TEXT = [
  'DATABASE_CA_FILE',
  'DATA_DIR',
  'DIRECTIVES_STORE_PATH',
  'EGRESS_CA_FILE',
  'KUBECONFIG',
  'AUDIT_LOG_PATH',
  'KUBERNETES_SERVICE_HOST',
  'MANIFEST_PATH',
  'OIDC_CLIENT_ID',
  'OIDC_GROUPS_KEEP',
  'ORGANISATION_POLICIES',
  'PLATFORM_CA_FILE',
  'PLATFORM_KEY_STORE_PATH',
  'PLATFORM_ROLES_FILE',
  'PLATFORM_SECRET_DIR',
  'PLATFORM_TOKEN_FILE',
  'PROOF_STORE_PATH',
  'START_NONCE',
  'STOP_ANNOTATION_FILE',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_BASE_URL',
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'PLATFORM_LLM_API_KEY',
  'PLATFORM_LLM_BASE_URL',
  'PLATFORM_LLM_MODEL',
];
const INVALID = 'hunter2 = no value';
/** Two keys must differ, which is another problem. */
const valueOf = (name: string): string => (name === 'PLATFORM_READ_KEY' ? 'hunter3 = no value' : INVALID);

const PROCESSES: readonly [string, Readonly<Record<string, EnvField<unknown>>>][] = [
  ['sidecar', SIDECAR_FIELDS],
  ['control-plane', CONTROL_PLANE_FIELDS],
  ['webhook', WEBHOOK_FIELDS],
  ['operator', OPERATOR_FIELDS],
];

function start(part: string, env: Record<string, string>): { status: number | null; stderr: string } {
  const bundle = join(ROOT, 'dist', part, 'main.js');
  const { status, stderr } = spawnSync(process.execPath, [bundle], {
    env: { ...COMPILE_CACHE, ...env },
    encoding: 'utf8',
    timeout: 120_000,
  });
  return { status, stderr };
}

test.each(PROCESSES)(
  'the built %s exits with 1 if every variable is invalid, and names each value and what is accepted',
  (part, fields) => {
    const strict = Object.entries(fields).filter(([name]) => !ANY_TEXT.includes(name));
    // OIDC_ISSUER requires it, also if the issuer is not valid.
    const env = { OIDC_CLIENT_ID: 'any text' };
    for (const [name] of strict) Object.assign(env, { [name]: valueOf(name) });
    const { status, stderr } = start(part, env);
    expect(stderr.split('\n')).toEqual([
      `${part} cannot start:`,
      ...strict.map(
        ([name, field]) => `${name}=${field.secret ? '[secret]' : INVALID}: must be ${field.wanted}`,
      ),
      '',
    ]);
    expect(status).toBe(1);
  },
);

test.each(PROCESSES)(
  'the built %s reports no variable that a Service of the namespace has set',
  (part, fields) => {
    const ports = Object.keys(fields).filter((name) => name.endsWith('_PORT'));
    const links = Object.fromEntries(ports.map((name) => [name, 'tcp://10.96.0.7:4318']));
    const { status, stderr } = start(part, { LOG_LEVEL: INVALID, ...links });
    expect(stderr).toContain(`\nLOG_LEVEL=${INVALID}: `);
    expect(stderr).not.toContain('tcp://');
    expect(status).toBe(1);
  },
);
