/** Text without the code marks of Markdown. */
export function plain(text: string): string {
  return text.replaceAll('`', '');
}

/** A sentence for people: plain text that begins with a capital letter and ends with a full stop. */
export function sentence(text: string): string {
  const words = plain(text).trim();
  const first = words.slice(0, 1).toUpperCase() + words.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

/** `1 request`, `3 requests` */
export function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

/** A share in whole percent, as text. A small share is not shown as nothing, and an incomplete one not as everything. */
export function percentText(part: number, whole: number): string {
  const percent = Math.round((100 * part) / whole);
  if (part > 0 && percent === 0) return 'less than 1 %';
  return part < whole && percent === 100 ? 'more than 99 %' : `${percent} %`;
}
