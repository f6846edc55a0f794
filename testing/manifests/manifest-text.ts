import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A manifest with every key of the schema. */
export const FULL_MANIFEST = readFileSync(join(import.meta.dirname, 'full-agent.yaml'), 'utf8');

/** A minimal manifest plus lines that a test adds under `spec`, already indented. */
export function manifestText(spec = ''): string {
  return `apiVersion: platform.io/v1
kind: PlatformAgent
metadata:
  name: minimal
  version: 1.0.0
  description: The least that is a manifest.
spec:
  model:
    provider: openai
    id: gpt-4.1
    apiKey: $env:OPENAI_API_KEY
${spec}`;
}
