import type { Api } from './manifest.ts';
import { referenceOf } from './references.ts';

/** URL of the declared A2A interface, or the reason why the capability card cannot list it. null: none is declared. */
export type A2aAddress = { ok: true; url: string } | { ok: false; reason: string } | null;

/** Resolves `spec.api.a2a`: its path appended to `spec.api.url`. */
export function a2aAddress({ url, a2a }: Api): A2aAddress {
  if (a2a === undefined) return null;
  if (url === undefined) return { ok: false, reason: 'spec.api.url is missing' };
  const { path = '' } = a2a;
  if (referenceOf(url) !== null) return { ok: false, reason: 'spec.api.url is a reference' };
  if (referenceOf(path) !== null) return { ok: false, reason: 'spec.api.a2a.path is a reference' };
  if (!/^https?:/i.test(url)) return { ok: false, reason: 'spec.api.url is not an http or https URL' };
  return { ok: true, url: path === '' ? url : withoutSlashes(url) + path };
}

/** Without the slashes at its end. `/\/+$/` takes quadratic time for a long run of slashes in the middle. */
function withoutSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end -= 1;
  return url.slice(0, end);
}
