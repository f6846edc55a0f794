/**
 * Milliseconds of each scavenge, from what `node --trace-gc` prints, such as
 * `[7:0x1a2b]      640 ms: Scavenge 9.1 (12.0) -> 7.9 (14.5) MB, pooled: 0 MB, 1.62 / 0.00 ms (average mu = …) task;`.
 */
export function parseScavenges(text: string): number[] {
  const line = /^\[\d+:0x[0-9a-f]+(?::\d+)?\] +\d+ ms: Scavenge.*?, ([\d.]+) \/ [\d.]+ ms /gm;
  return [...text.matchAll(line)].map(([, ms]) => Number(ms));
}
