/** The path of the next page in a `Link` header; null: the last page. */
export function nextOf(header: string | null): string | null {
  return /<([^>]+)>\s*;\s*rel="?next"?/.exec(header ?? '')?.[1] ?? null;
}
