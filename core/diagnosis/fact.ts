/** What was looked at, or why it could not be: what is not known is never taken for good. */
export type Fact<T> = { known: true; value: T } | { known: false; why: string };

export const known = <T>(value: T): Fact<T> => ({ known: true, value });
export const notKnown = (why: string): { known: false; why: string } => ({ known: false, why });
