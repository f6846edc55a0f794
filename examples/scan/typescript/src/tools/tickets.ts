import { tool } from 'ai';
import { z } from 'zod';
import { pool } from '../store.js';

export const lookupTicket = tool({
  description: 'Returns a ticket with its history.',
  inputSchema: z.object({ id: z.string().describe('Number of the ticket') }),
  execute: async ({ id }) => (await pool.query('SELECT * FROM tickets WHERE id = $1', [id])).rows[0],
});

export const closeTicket = tool({
  description: 'Closes a ticket. ' + 'The customer gets a message.',
  inputSchema: z.object({ id: z.string(), reason: z.string() }),
  execute: async ({ id, reason }) => {
    await pool.query(`UPDATE tickets SET state = 'closed', reason = $2 WHERE id = $1`, [id, reason]);
    return 'closed';
  },
});
