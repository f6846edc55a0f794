type Absent = null | undefined;

/** Members whose value may be absent become optional. */
type Present<T> = { [K in keyof T as Extract<T[K], Absent> extends never ? K : never]: T[K] } & {
  [K in keyof T as Extract<T[K], Absent> extends never ? never : K]?: Exclude<T[K], Absent>;
};

/** The members that are neither null nor undefined, for JSON in which an unknown value is an absent member. */
export function present<T extends object>(members: T): Present<T> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members))
    if (value !== null && value !== undefined) kept[name] = value;
  return kept as Present<T>;
}
