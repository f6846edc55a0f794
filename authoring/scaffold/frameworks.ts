/** The agent frameworks for which `platform generate` writes a project. */
export const FRAMEWORKS = ['langgraph', 'crewai', 'mastra', 'autogen'] as const;
export type Framework = (typeof FRAMEWORKS)[number];
