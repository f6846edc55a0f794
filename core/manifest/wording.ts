import { quoted as quotedText } from '../untrusted/quoted.ts';

const LONGEST = 60;

const PASSWORD_IN_URL = /:[^:@/\s]+@/;

/** Whether the text seems to contain the password of a connection URL. */
export const holdsPassword = (text: string): boolean => PASSWORD_IN_URL.test(text);

/** Quotes a value of the manifest. Passwords are masked, because messages appear in logs and reports. */
export function quoted(text: string): string {
  return quotedText(text.replaceAll(new RegExp(PASSWORD_IN_URL, 'g'), ':***@'), LONGEST);
}

/** `a, b or c` */
export function oneOf(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
