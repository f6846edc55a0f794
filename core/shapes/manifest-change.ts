import { cutText } from './common.ts';
import { integer, isoTime, oneOf, text, type Field } from './field.ts';
import { object, type TypeOf } from './object.ts';
import { DRIFT_SEVERITIES } from './values.ts';

const members = object(
  'The last change of the manifest, as its first instance reported it. Absent: it has not changed.',
  {
    at: isoTime('When the first instance with the new manifest reported.'),
    from: text('Hash of the manifest before.'),
    to: text('Hash of the newest manifest.'),
    'severity?': oneOf(
      'The highest severity of the differences, as `platform diff` has it. Absent: what changed is not known.',
      DRIFT_SEVERITIES,
    ),
    'scoreChange?': integer('Points of all differences. Absent: what changed is not known.', {
      min: -100,
      max: 0,
    }),
    summary: cutText('What changed, the heaviest difference first, or that it is not known.'),
  },
);

/** Member `manifestChange` of the status of an AgentObservation. */
export interface ManifestChange extends TypeOf<typeof members> {}
export const manifestChange: Field<ManifestChange> = members;
