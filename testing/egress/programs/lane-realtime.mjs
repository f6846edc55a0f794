import { Agent } from 'node:https';
import OpenAI from 'openai';
import { OpenAIRealtimeWebSocket } from 'openai/realtime/websocket';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { forms } from './lane-tools.mjs';

const model = 'gpt-realtime';
const firstEvent = (realtime) =>
  new Promise((resolve, reject) => {
    realtime.on('error', reject);
    realtime.on('event', (event) => {
      realtime.close();
      resolve(event);
    });
  });

await forms({
  session: () => firstEvent(new OpenAIRealtimeWS({ model }, new OpenAI())),
  // The package ws uses a proxy only with an agent that has one.
  'session with an agent': () => {
    const agent = new Agent({ proxyEnv: process.env });
    return firstEvent(new OpenAIRealtimeWS({ model, options: { agent } }, new OpenAI()));
  },
  'native session': () => firstEvent(new OpenAIRealtimeWebSocket({ model }, new OpenAI())),
});
