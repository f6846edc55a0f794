/**
 * The value of a condition, given its status. Everything except True and False is Unknown, also a condition that does not exist
 * yet: what was not observed is not a violation.
 */
export function conditionValue(status: string | undefined): 'Yes' | 'No' | 'Unknown' {
  if (status === 'True') return 'Yes';
  return status === 'False' ? 'No' : 'Unknown';
}
