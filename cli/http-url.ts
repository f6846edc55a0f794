/** An http(s) URL without query and fragment; null: the text is something else. */
export function parseHttpUrl(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isBase = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
  return isBase ? url : null;
}
