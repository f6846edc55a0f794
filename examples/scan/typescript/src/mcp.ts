import { createMCPClient } from '@ai-sdk/mcp';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { env } from './env.js';

export const ticketServer = () =>
  createMCPClient({ transport: { type: 'http', url: env.TICKETS_MCP_URL } });

export const calendar = () =>
  createMCPClient({
    transport: new StdioClientTransport({
      command: 'node',
      args: ['servers/calendar.js', '--read-only'],
      env: { CALENDAR_TOKEN: process.env.CALENDAR_TOKEN ?? '' },
    }),
  });
