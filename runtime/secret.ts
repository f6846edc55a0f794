import { inspect } from 'node:util';

const HIDDEN = '[secret]';

/** A value that must not appear in logs, errors or JSON by accident: printing it in any way shows `[secret]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the plain value. Call it only where the value is sent or compared. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}
