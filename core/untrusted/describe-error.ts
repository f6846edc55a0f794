/** Describes an error and its causes in one line, without the stack: code and message are enough to locate it. */
export function describeError(error: unknown): string {
  if (!isError(error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const message = error.message || error.name;
  const cause = error.cause === undefined ? '' : ` (${describeError(error.cause)})`;
  // System errors already begin with their code.
  return `${message.includes(code) ? message : `${code}: ${message}`}${cause}`;
}

/** Both checks: an error may come from another realm, and a DOMException has a tag of its own. */
function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}
