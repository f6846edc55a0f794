import type { Manifest } from './manifest.ts';

export const REFERENCE_KINDS = ['env', 'file', 'secret', 'func'] as const;
export type ReferenceKind = (typeof REFERENCE_KINDS)[number];
export const REFERENCE_FUNCTIONS = ['now_iso', 'now_unix', 'now_date'] as const;
export type ReferenceFunction = (typeof REFERENCE_FUNCTIONS)[number];

/** A reference in a manifest: `$env:VAR`, `$file:path`, `$secret:name` or `$func:name`. */
export interface Reference {
  kind: ReferenceKind;
  /** The text after the colon. */
  name: string;
  /** Manifest path, for example `spec.model.apiKey`. */
  path: string;
}

const REFERENCE = /^\$(env|file|secret|func):(.*)$/s;

/** Parses a string of a valid manifest as a reference; null: the string is a literal value. */
export function referenceOf(text: string): { kind: ReferenceKind; name: string } | null {
  const match = REFERENCE.exec(text);
  if (match === null) return null;
  return { kind: match[1] as ReferenceKind, name: match[2] ?? '' };
}

/** All references of the manifest in the order of the file. Values under `x-` keys are skipped. */
export function referencesIn(manifest: Manifest): Reference[] {
  const found: Reference[] = [];
  collect(manifest, '', found);
  return found;
}

function collect(value: unknown, path: string, found: Reference[]): void {
  if (typeof value === 'string') {
    const reference = referenceOf(value);
    if (reference !== null) found.push({ ...reference, path });
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) collect(item, `${path}[${index}]`, found);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value))
      if (!key.startsWith('x-')) collect(item, path === '' ? key : `${path}.${key}`, found);
  }
}

/** The variable that holds a secret in the backend `env`: `PLATFORM_SECRET_DB_PASSWORD` for `db-password`. */
export function secretVariable(name: string): string {
  return `PLATFORM_SECRET_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
}

/** The value of a `$func:` reference at `now`: `now_iso` ISO 8601 UTC, `now_unix` seconds, `now_date` the UTC day. */
export function functionValue(name: ReferenceFunction, now: Date): string {
  switch (name) {
    case 'now_iso':
      return now.toISOString();
    case 'now_unix':
      return String(Math.floor(now.getTime() / 1000));
    case 'now_date':
      return now.toISOString().slice(0, 10);
  }
}
