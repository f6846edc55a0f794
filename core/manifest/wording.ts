const LONGEST = 60;

const PASSWORD_IN_URL = /:[^:@/\s]+@/;

/** Whether the text seems to contain the password of a connection URL. */
export function holdsPassword(text: string): boolean {
  return PASSWORD_IN_URL.test(text);
}

/**
 * Quotes a value of the file for a message: one line, cut to a maximum length. Passwords are masked, because messages appear
 * in logs and reports.
 */
export function quoted(text: string): string {
  const safe = text.replaceAll(new RegExp(PASSWORD_IN_URL, 'g'), ':***@');
  return JSON.stringify(safe.length > LONGEST ? `${safe.slice(0, LONGEST)}…` : safe);
}

/** `a, b or c` */
export function oneOf(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
