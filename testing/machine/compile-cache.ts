/**
 * The compile cache that `make test` sets, for processes that do not inherit the environment of the test; it saves a third of
 * a bundle's start.
 */
export const COMPILE_CACHE: Readonly<Record<string, string>> =
  process.env['NODE_COMPILE_CACHE'] === undefined
    ? {}
    : { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] };
