// Planted violation: core/ must not read files. The layer check fails when it does not find this one.
import { readFileSync } from 'node:fs';

export const planted = readFileSync;
