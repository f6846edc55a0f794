/** What a condition says to a reader. */
export type ConditionValue = 'Yes' | 'No' | 'Unknown';

/**
 * The value of a condition, given its status. Everything except True and False is Unknown, also a condition that does not exist
 * yet: what was not observed is not a violation.
 */
export function conditionValue(status: string | undefined): ConditionValue {
  if (status === 'True') return 'Yes';
  return status === 'False' ? 'No' : 'Unknown';
}

/** The verdict in one line, the same on every surface: `no: the grade is below B`. */
export function verdictText({ status, message }: { status: string; message: string }): string {
  return `${conditionValue(status).toLowerCase()}: ${message}`;
}
