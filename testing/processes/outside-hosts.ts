// The hosts outside of a pod, for testing/egress/evasion.integration.test.ts: a model vendor on every address, and a server
// that ends its connections at once. Prints one line when all listen.
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { ENDING_PORT, HIDDEN_CALL, OWN_PORTS, USAGE, VENDOR_PORT } from '../egress/outside-ports.ts';

const vendor: RequestListener = (request, response) => {
  void text(request).then(() => {
    const message = { role: 'assistant', content: `The order is gone: ${HIDDEN_CALL}` };
    const content = {
      ...{
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1_767_225_600,
        model: 'gpt-4o-mini',
        usage: USAGE,
      },
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(content));
  });
};
const ending = createServer((socket) => {
  socket.on('error', () => socket.destroy()).end();
});

for (const port of [VENDOR_PORT, ...OWN_PORTS])
  await once(createHttpServer(vendor).listen(port, '0.0.0.0'), 'listening');
await once(ending.listen(ENDING_PORT, '0.0.0.0'), 'listening');
process.stdout.write('listening\n');
