import { ANNOTATION_PREFIX, ANNOTATIONS, isUnknownAnnotation } from '../../core/injection/annotations.ts';
import { NAME_LABEL } from '../../core/injection/names.ts';
import { podPlacesOf, type Identity, type PodPlace } from '../../core/injection/workloads.ts';
import { nearest } from '../../core/manifest/nearest.ts';
import { isRecord } from '../../core/untrusted/fields.ts';

/** An annotation or a label of a workload that looks like an annotation of the product, but has no effect. */
export interface AnnotationMistake extends Identity {
  what: 'annotation' | 'label';
  /** As it is written. */
  key: string;
  /** The annotation that was probably meant; null: no name is similar. Equal to `key` if only the place is wrong. */
  meant: string | null;
  /** Where annotations have an effect: `spec.template.metadata.annotations`. */
  place: string;
}

const NAMES = Object.values(ANNOTATIONS).map(({ name }): string => name);
const WORDS = NAMES.map((name) => name.slice(ANNOTATION_PREFIX.length));

/**
 * The mistakes in the annotations and labels of a workload or pod. `object` must have kind and apiVersion. The policy of the
 * chart (`templates/annotation-warnings.yaml`) warns of the same mistakes when an object is applied; a test compares the two.
 */
export function annotationMistakesOf(object: unknown): AnnotationMistake[] {
  return podPlacesOf(object).flatMap((where) => {
    const inner = keysOf(where.pod, 'annotations');
    const outer = metadataAbove(object, where);
    const annotations = outer.flatMap((each) => keysOf(each, 'annotations'));
    const labels = [where.pod, ...outer].flatMap((each) => keysOf(each, 'labels'));
    const { kind, namespace, name } = where;
    const place = [...where.path, 'metadata', 'annotations'].join('.');
    const mistake =
      (what: AnnotationMistake['what']) =>
      (key: string): AnnotationMistake => ({
        ...{ kind, namespace, name, what, key, place },
        meant: meantBy(key),
      });
    const isLost = (key: string): boolean => NAMES.includes(key) && !inner.includes(key);
    return [
      ...distinct([...inner, ...annotations])
        .filter((key) => isUnknownAnnotation(key) || isLost(key))
        .map(mistake('annotation')),
      ...distinct(labels)
        .filter((key) => key !== NAME_LABEL && isLost(key))
        .map(mistake('label')),
    ];
  });
}

const distinct = (keys: readonly string[]): string[] => [...new Set(keys)];

function meantBy(key: string): string | null {
  const word = nearest(key.slice(ANNOTATION_PREFIX.length), WORDS);
  return word === undefined ? null : ANNOTATION_PREFIX + word;
}

/** The objects around the pod template that have metadata of their own: the workload, and the job template of a CronJob. */
function metadataAbove(object: unknown, { path }: PodPlace): unknown[] {
  return path.map((_key, depth) =>
    path.slice(0, depth).reduce<unknown>((node, key) => (isRecord(node) ? node[key] : undefined), object),
  );
}

function keysOf(object: unknown, member: 'annotations' | 'labels'): string[] {
  const metadata = isRecord(object) ? object['metadata'] : undefined;
  const map = isRecord(metadata) ? metadata[member] : undefined;
  return isRecord(map) ? Object.keys(map) : [];
}
