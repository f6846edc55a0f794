/** Quotes a text for a message: on one line, and cut so that it cannot flood an event or a log. */
export function quoted(text: string, longest = 100): string {
  return JSON.stringify(text.length > longest ? `${text.slice(0, longest)}…` : text);
}
