/** A gathered value, or the reason why it could not be gathered. An unknown value never passes a check. */
export type Fact<T> = { known: true; value: T } | { known: false; why: string };

export const known = <T>(value: T): Fact<T> => ({ known: true, value });
export const notKnown = (why: string): { known: false; why: string } => ({ known: false, why });
