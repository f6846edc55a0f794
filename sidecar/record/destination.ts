/** Where the lines of the audit log go. */
export interface Destination {
  /**
   * Writes all bytes or the first of them, and resolves with their number. `startsLine`: the first byte begins a line. Rejects if
   * nothing was written; the caller repeats the call later.
   */
  write(bytes: Buffer, startsLine: boolean): Promise<number>;
  close(): Promise<void>;
}
