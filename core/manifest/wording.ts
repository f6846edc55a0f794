const LONGEST = 60;

const PASSWORD_IN_URL = /:[^:@/\s]+@/;

/** Whether a text holds what looks like the password of a connection URL. */
export function holdsPassword(text: string): boolean {
  return PASSWORD_IN_URL.test(text);
}

/** A piece of the file in a message: quoted, on one line, cut. Messages go to logs and reports: no passwords. */
export function shown(text: string): string {
  const safe = text.replaceAll(new RegExp(PASSWORD_IN_URL, 'g'), ':***@');
  return JSON.stringify(safe.length > LONGEST ? `${safe.slice(0, LONGEST)}…` : safe);
}

/** `a, b or c` */
export function oneOf(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
