/** An http(s) URL without query and fragment; null: the text is something else. */
export function parseHttpUrl(text: string): URL | null {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.search + url.hash === '' ? url : null;
}
