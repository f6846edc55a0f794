import { createHash } from 'node:crypto';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { parseWith, type Parsed } from '../../core/shapes/field.ts';
import { registrationBody } from '../../core/shapes/registration.ts';
import type { TypeOf } from '../../core/shapes/object.ts';
import type { Registration } from '../stores/store.ts';

/** The parsed body of `POST /api/v1/register`. */
export interface ParsedRegistration extends Omit<TypeOf<typeof registrationBody>, 'manifest'> {
  manifest: Registration['manifest'];
}

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
