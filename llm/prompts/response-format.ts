/** Instructions with the form of the response, for endpoints that do not accept a schema. */
export function withResponseFormat(system: string, schema: Readonly<Record<string, unknown>>): string {
  return `${system}

Answer with one JSON object and no other text. The object must be valid under this JSON Schema:
${JSON.stringify(schema)}`;
}
