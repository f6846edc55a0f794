import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { forms } from './lane-tools.mjs';

await forms({
  session: () =>
    new Promise((resolve, reject) => {
      const realtime = new OpenAIRealtimeWS({ model: 'gpt-realtime' }, new OpenAI());
      realtime.on('error', reject);
      realtime.on('event', (event) => {
        realtime.close();
        resolve(event);
      });
    }),
});
