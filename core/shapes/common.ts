import { inCrd, like, integer, matching, number, text, type Field } from './field.ts';

/** Longer texts are cut, so that a body with too much text is still accepted. */
export const MAX_TEXT = 500;

export const cutText = (description: string): Field<string> => text(description, { cut: MAX_TEXT });

/** A number of things. */
export const count = (description: string): Field<number> => integer(description, { min: 0 });

/** A number of things that may exceed 32 bits. */
export const bigCount = (description: string): Field<number> =>
  inCrd(count(description), { format: 'int64' });

/** A number that increases. The CustomResourceDefinition has no minimum for it. */
export const sequence = (description: string): Field<number> =>
  inCrd(count(description), { format: 'int64', minimum: undefined });

/** A whole number of points or percent. */
export const score = (description: string): Field<number> => integer(description, { min: 0, max: 100 });

/** A number that is not negative. `limit` protects sums. */
export const amount = (description: string, limit = Number.MAX_SAFE_INTEGER): Field<number> =>
  number(description, { min: 0, limit });

/** RFC 1123 subdomain, without the limit of 253 characters. */
export const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** RFC 1123 label, 1 to 63 characters. */
export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export const dnsLabel = (description: string): Field<string> =>
  matching(description, { pattern: DNS_LABEL, wanted: 'a DNS label' });

/** A value of a closed list, or an id. */
export const code = (description: string): Field<string> => text(description, { cut: 64 });

/** A UTC day. */
export const utcDay = (description: string): Field<string> => {
  const day = matching(description, { pattern: /^\d{4}-\d{2}-\d{2}$/, wanted: 'a day (YYYY-MM-DD)' });
  return inCrd(
    like(day, () => day.schema),
    { pattern: undefined },
  );
};
