import type { ManifestSpec } from '../../core/manifest/manifest.ts';
import type { Cursor } from './cursor.ts';

/** A2A skills. Their names, descriptions and examples have no place in a manifest. */
export function skillsOf(skills: readonly Cursor[]): ManifestSpec['skills'] {
  const ids = skills.map((skill) => skill.at('id').text()).filter((id) => id !== undefined);
  return ids.length === 0 ? undefined : [...new Set(ids)].map((id) => ({ id }));
}
