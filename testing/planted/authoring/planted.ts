// Planted violation for scripts/check-layers.mjs: file access in authoring/.
import { readFileSync } from 'node:fs';

export const text = readFileSync('agent.yaml', 'utf8');
