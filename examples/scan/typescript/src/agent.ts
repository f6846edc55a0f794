import { stepCountIs, ToolLoopAgent } from 'ai';
import { model } from './models.js';
import { systemPrompt } from './prompts.js';
import { ticketServer } from './mcp.js';
import { searchKnowledge } from './tools/knowledge.js';
import { closeTicket, lookupTicket } from './tools/tickets.js';

export async function createAgent() {
  const remote = await (await ticketServer()).tools();
  return new ToolLoopAgent({
    model,
    instructions: systemPrompt,
    tools: { lookupTicket, closeTicket, searchKnowledge, ...remote },
    stopWhen: stepCountIs(8),
  });
}
