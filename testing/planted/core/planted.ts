// Planted violation: core/ must not read files. The layer check fails if it does not detect this violation.
import { readFileSync } from 'node:fs';

export const planted = readFileSync;
