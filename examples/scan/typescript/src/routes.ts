import { Router, json } from 'express';
import { createAgent } from './agent.js';
import { isToxic, looksLikeJailbreak, redactPii } from './guardrails.js';
import { log, metrics } from './telemetry.js';

export const router = Router();

router.get('/healthz', (_request, response) => {
  response.json({ status: 'ok' });
});

router.get('/metrics', async (_request, response) => {
  response.type('text/plain').send(await metrics());
});

router.post('/v1/chat', json(), async (request, response) => {
  const message = redactPii(String(request.body.message));
  if (looksLikeJailbreak(message)) {
    response.status(422).json({ error: 'the message was blocked' });
    return;
  }
  const agent = await createAgent();
  const { text: answer } = await agent.generate({ prompt: message });
  if (await isToxic(answer)) {
    log.warn('answer blocked');
    response.status(502).json({ error: 'the answer was blocked' });
    return;
  }
  response.json({ response: answer });
});
