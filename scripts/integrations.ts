/** The integrations of the reporter, `agent-compliance/integrations/<name>` from `reporter/integrations/<name>.ts`. */
export const INTEGRATIONS = ['ai-sdk', 'langchain', 'mastra', 'mcp', 'openai-agents'] as const;
