/** Text of a pod for use in a message: quoted, on one line, and truncated so that it cannot flood an event or a log. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
