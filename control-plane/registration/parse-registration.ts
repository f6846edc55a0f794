import { createHash } from 'node:crypto';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import {
  described,
  fail,
  object,
  oneOf,
  parseWith,
  type Field,
  type Parsed,
} from '../../core/untrusted/fields.ts';
import { isDnsLabel } from '../../core/injection/names.ts';
import { DNS_LABEL } from '../../core/shapes/common.ts';
import { RUNTIMES, type Runtime } from '../../core/shapes/values.ts';
import type { Registration } from '../stores/store.ts';

/** The parsed body of `POST /api/v1/register`. */
export interface ParsedRegistration {
  agentName: string;
  runtime: Runtime;
  manifest: Registration['manifest'];
}

const dnsLabel: Field<string> = described(
  { type: 'string', pattern: DNS_LABEL.source },
  (value, path, errors) =>
    typeof value === 'string' && isDnsLabel(value)
      ? value
      : fail(errors, path, 'must be a DNS label: 1 to 63 characters of a-z, 0-9 and "-"'),
);

/** The text of agent.yaml, or the manifest as a JSON object (JSON is valid YAML). */
const manifestText: Field<string> = described(
  {
    description: 'The text of agent.yaml, or the manifest as a JSON object. It must be a valid manifest.',
    anyOf: [{ type: 'string' }, { type: 'object' }],
  },
  (value, path, errors) => {
    if (typeof value === 'string') return value;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return JSON.stringify(value);
    return fail(errors, path, 'must be the text of agent.yaml or the manifest as a JSON object');
  },
);

/** The body of `POST /api/v1/register`. */
export const registrationBody = object<{ agentName: string; runtime: Runtime }, { manifest: string }>(
  { agentName: dnsLabel, runtime: oneOf(RUNTIMES) },
  { manifest: manifestText },
);

export function parseRegistration(value: unknown): Parsed<ParsedRegistration> {
  const parsed = parseWith(registrationBody, value);
  if (!parsed.ok) return parsed;
  const { manifest: text, ...registration } = parsed.value;
  if (text === undefined) return { ok: true, value: { ...registration, manifest: null } };
  const read = parseManifest(text);
  if (!read.ok)
    return {
      ok: false,
      errors: read.problems.map(({ path, message, line, column }) => ({
        path: path === '' ? 'manifest' : `manifest.${path}`,
        message: `${message} (line ${line}, column ${column})`,
      })),
    };
  const { provider, id } = read.manifest.spec.model;
  const hash = createHash('sha256').update(text).digest('hex');
  return { ok: true, value: { ...registration, manifest: { hash, model: { provider, id } } } };
}
