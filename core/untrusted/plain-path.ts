/** What servers may read differently from how it is written. */
const UNUSUAL = /[^\w/:.-]|\/[/.]|.\/$/;

/**
 * The path of a request as a server may read it: without dot segments, repeated slashes, parameters, a slash at the end and escapes.
 * Use it only to recognize a known path, so that a different spelling of the path is recognized, too.
 */
export function plainPath(path: string): string {
  if (!UNUSUAL.test(path)) return path;
  const plain = path.replaceAll(/;[^/]*/g, '').replaceAll(/\/{2,}/g, '/');
  const resolved = URL.parse(`http://agent${plain}`)?.pathname ?? plain;
  const trimmed = resolved.length > 1 ? resolved.replace(/\/$/, '') : resolved;
  try {
    return decodeURIComponent(trimmed);
  } catch {
    return trimmed;
  }
}
