import type { Framework } from './frameworks.ts';

/** What differs between the projects of the frameworks. The templates of a framework are in `templates/<framework>`. */
export interface FrameworkProject {
  title: string;
  language: 'python' | 'typescript';
  /** Packages with exact versions, those that testing/frameworks tests. */
  packages: Readonly<Record<string, string>>;
}

const SERVER_PACKAGES = { PyYAML: '6.0.3', starlette: '1.10.0', uvicorn: '0.54.0' };

export const FRAMEWORK_PROJECTS: Readonly<Record<Framework, FrameworkProject>> = {
  langgraph: {
    title: 'LangGraph',
    language: 'python',
    packages: {
      langchain: '1.4.7',
      'langchain-openai': '1.7.3',
      langgraph: '1.2.22',
      ...SERVER_PACKAGES,
    },
  },
  crewai: { title: 'CrewAI', language: 'python', packages: { crewai: '1.15.30', ...SERVER_PACKAGES } },
  mastra: {
    title: 'Mastra',
    language: 'typescript',
    packages: { '@mastra/core': '1.71.0', yaml: '2.9.1', zod: '4.6.7' },
  },
  autogen: {
    title: 'AutoGen',
    language: 'python',
    packages: { 'autogen-agentchat': '0.7.5', 'autogen-ext[openai]': '0.7.5', ...SERVER_PACKAGES },
  },
};

/** Only for the tests and the type check of a project in TypeScript. */
export const TYPESCRIPT_TOOLS = { '@types/node': '24.19.2', typescript: '6.0.3' } as const;
