/**
 * The name of a member as servers in Go compare it: without case, also of the two letters outside ASCII that fold into it, and without
 * NUL (CVE-2026-27896, GHSA-q382-vc8q-7jhj).
 */
export const foldedName = (name: string): string => name.replaceAll('\0', '').toUpperCase().toLowerCase();
