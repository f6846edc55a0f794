import { InvalidArgumentError } from 'commander';

/** The value of an option that is an address. */
export function httpUrl(value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.search !== '' || url.hash !== '')
    throw new InvalidArgumentError('It is a URL that begins with http:// or https://, without a query.');
  return url;
}
