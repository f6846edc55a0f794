/** Why the database cannot be used, for the person who runs the control plane. */
export interface Explanation {
  /** For `/readyz`, without details. */
  reason: string;
  /** What to do. */
  fix: string;
}

/** The server works, but this build cannot use it as it is. */
export class UnusableServer extends Error {
  readonly explanation: Explanation;

  constructor(message: string, explanation: Explanation) {
    super(message);
    this.name = 'UnusableServer';
    this.explanation = explanation;
  }
}

export const READ_ONLY: Explanation = {
  reason: 'the database is read-only',
  fix: 'connect to the primary server in DATABASE_URL',
};

export const NEWER_SCHEMA: Explanation = {
  reason: 'the schema of the database is newer than this build',
  fix: 'use a newer build',
};
