/** Continues with a value that may be known later. A value that is known delays nothing. */
export function after<T, R>(value: T | Promise<T>, go: (known: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(go) : go(value);
}
