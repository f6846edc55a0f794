/** The collections of a process, from what `node --trace-gc` prints. */
export interface Collections {
  /** Milliseconds of each scavenge. */
  scavengesMs: number[];
  /** Milliseconds of all others together. */
  otherMs: number;
}

/**
 * Parses the lines of `--trace-gc`, such as
 * `[7:0x1a2b]      640 ms: Scavenge 9.1 (12.0) -> 7.9 (14.5) MB, pooled: 0 MB, 1.62 / 0.00 ms (average mu = …) task;`.
 */
export function parseCollections(text: string): Collections {
  const collections: Collections = { scavengesMs: [], otherMs: 0 };
  const line =
    /^\[\d+:0x[0-9a-f]+(?::\d+)?\] +\d+ ms: (?<kind>[A-Z][\w-]*).*?, (?<ms>[\d.]+) \/ [\d.]+ ms /gm;
  for (const { groups: { kind = '', ms = '' } = {} } of text.matchAll(line))
    if (kind === 'Scavenge') collections.scavengesMs.push(Number(ms));
    else collections.otherMs += Number(ms);
  return collections;
}
