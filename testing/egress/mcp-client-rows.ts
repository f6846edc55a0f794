import type { McpClientRow } from './client-row.ts';

export const MCP_CLIENT_ROWS: readonly McpClientRow[] = [
  {
    name: '@modelcontextprotocol/sdk (JavaScript)',
    ...{ packages: 'none', client: '@modelcontextprotocol/sdk', program: 'lane-mcp.mjs', weight: 'light' },
  },
  {
    name: '@modelcontextprotocol/sdk, HTTP+SSE (JavaScript)',
    ...{ packages: 'none', client: '@modelcontextprotocol/sdk', program: 'lane-mcp.mjs', weight: 'light' },
    isSse: true,
  },
  {
    name: '@modelcontextprotocol/client (JavaScript)',
    ...{ packages: 'node', client: '@modelcontextprotocol/client', program: 'lane-mcp.mjs', weight: 'soak' },
    options: { MAJOR: '2' },
  },
  {
    name: 'mcp (Python)',
    ...{ packages: 'python', client: 'mcp', program: 'lane-mcp.py', weight: 'light' },
  },
  {
    name: 'mcp, HTTP+SSE (Python)',
    ...{ packages: 'python', client: 'mcp', program: 'lane-mcp.py', weight: 'soak', isSse: true },
  },
  {
    name: 'fastmcp (Python)',
    ...{ packages: 'python', client: 'fastmcp', program: 'lane-fastmcp.py', weight: 'soak' },
  },
];
