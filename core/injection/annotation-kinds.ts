import { parseQuantity } from './quantity.ts';

/** A kind of annotation value: the same check for the injector, the guard and the chart. */
export interface AnnotationKind<T> {
  /** Description of the allowed values; completes the sentence "is not …". */
  allowed: string;
  read(raw: string): { ok: true; value: T } | { ok: false };
  /** The check of the text `v` in CEL, for the guard. */
  cel: string;
  /** The JSON Schema of a chart value of this kind. */
  schema: { enum?: readonly T[] } & Readonly<Record<string, unknown>>;
  /** An RE2 pattern of the valid texts, without the limits of a number or a length: for variables of the sidecar in the guard. */
  pattern: string;
}

const invalid = { ok: false } as const;
const textOf = (raw: string, isValid: boolean): ReturnType<AnnotationKind<string>['read']> =>
  isValid ? { ok: true, value: raw } : invalid;

export function oneOf<const V extends string>(values: readonly V[]): AnnotationKind<V> {
  return {
    allowed: `one of ${values.map((value) => `"${value}"`).join(', ')}`,
    read: (raw) => {
      const value = values.find((candidate) => candidate === raw);
      return value === undefined ? invalid : { ok: true, value };
    },
    cel: `v in [${values.map((value) => `'${value}'`).join(', ')}]`,
    schema: { enum: values },
    pattern: `^(${values.join('|')})$`,
  };
}

export function boolean(): AnnotationKind<boolean> {
  const text = oneOf(['true', 'false']);
  return {
    ...text,
    read: (raw) => {
      const result = text.read(raw);
      return result.ok ? { ok: true, value: result.value === 'true' } : result;
    },
    schema: { type: 'boolean' },
  };
}

/** @param pattern without backslashes, so that JavaScript, CEL and YAML read it the same */
export function matching(allowed: string, pattern: RegExp, maxLength = Infinity): AnnotationKind<string> {
  const { source } = pattern;
  const limit = maxLength === Infinity ? '' : `v.size() <= ${maxLength} && `;
  return {
    allowed,
    read: (raw) => textOf(raw, raw.length <= maxLength && pattern.test(raw)),
    cel: `${limit}v.matches('${source}')`,
    schema: { type: 'string', pattern: source, ...(maxLength !== Infinity && { maxLength }) },
    pattern: source,
  };
}

/** IP addresses and networks separated by commas. The sidecar checks the numbers. */
export const networks = (): AnnotationKind<string> =>
  matching(
    'IP addresses and networks separated by commas',
    /^[0-9A-Fa-f.:]+([/][0-9]{1,3})?( *, *[0-9A-Fa-f.:]+([/][0-9]{1,3})?)*$/,
    1024,
  );

export function integer(minimum: number, maximum: number): AnnotationKind<number> {
  const pattern = `^(0|[1-9][0-9]{0,${String(maximum).length - 1}})$`;
  const digits = new RegExp(pattern);
  return {
    allowed: `an integer from ${minimum} to ${maximum}`,
    read: (raw) =>
      digits.test(raw) && Number(raw) >= minimum && Number(raw) <= maximum
        ? { ok: true, value: Number(raw) }
        : invalid,
    cel: `v.matches('${pattern}') && int(v) >= ${minimum} && int(v) <= ${maximum}`,
    schema: { type: 'integer', minimum, maximum },
    pattern,
  };
}

export function quantity(
  name: string,
  { minimum, maximum, example }: { minimum: string; maximum: string; example: string },
): AnnotationKind<string> {
  const [least, most] = [parseQuantity(minimum) ?? 0, parseQuantity(maximum) ?? 0];
  const compared = (bound: string): string => `quantity(v).compareTo(quantity('${bound}'))`;
  return {
    allowed: `${name} from ${minimum} to ${maximum}, such as ${example}`,
    read: (raw) => {
      const value = parseQuantity(raw);
      return textOf(raw, value !== null && value >= least && value <= most);
    },
    cel: `isQuantity(v) && ${compared(minimum)} >= 0 && ${compared(maximum)} <= 0`,
    schema: { $ref: '#/$defs/quantity' },
    pattern: '^[0-9.]+[A-Za-z0-9+-]*$',
  };
}

/** The value of a limit that is not set. */
export const NO_LIMIT = 'none';

/** A limit that may be absent. */
export function optionalLimit(kind: AnnotationKind<string>): AnnotationKind<string> {
  return {
    ...kind,
    allowed: `${kind.allowed}, or ${NO_LIMIT}`,
    read: (raw) => (raw === NO_LIMIT ? textOf(raw, true) : kind.read(raw)),
    cel: `v == '${NO_LIMIT}' || ${kind.cel}`,
  };
}

/** Whether a request of a resource is over its limit. */
export function isOverLimit(request: string, limit: string): boolean {
  return limit !== NO_LIMIT && (parseQuantity(request) ?? 0) > (parseQuantity(limit) ?? 0);
}
