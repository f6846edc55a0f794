/** Text of a pod inside a sentence: quoted, on one line, and cut so that it cannot flood an event or a log. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
