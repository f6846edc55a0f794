/** A response that is not valid HTTP/1.1, or whose end could be read differently by two clients. */
export class InvalidResponse extends Error {}
