type Absent = null | undefined;

/** Members whose value may be absent become optional. */
type Present<T> = { [K in keyof T as Extract<T[K], Absent> extends never ? K : never]: T[K] } & {
  [K in keyof T as Extract<T[K], Absent> extends never ? never : K]?: Exclude<T[K], Absent>;
};

/** The members that are neither null nor undefined, for JSON in which an unknown value is an absent member. */
export function present<T extends object>(members: T): Present<T> {
  const entries = Object.entries(members).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries) as Present<T>;
}
