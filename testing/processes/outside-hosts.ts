// The hosts outside of a pod, for testing/egress/evasion.integration.test.ts: a model vendor on every address, and a server
// that ends its connections at once. Prints one line when both listen.
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { ENDING_PORT, HIDDEN_CALL, USAGE, VENDOR_PORT } from '../egress/outside-ports.ts';

const vendor = createHttpServer((request, response) => {
  void text(request).then(() => {
    const message = { role: 'assistant', content: `The order is gone: ${HIDDEN_CALL}` };
    const answer = {
      ...{
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1_767_225_600,
        model: 'gpt-4o-mini',
        usage: USAGE,
      },
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
});
const ending = createServer((socket) => {
  socket.on('error', () => socket.destroy()).end();
});

vendor.listen(VENDOR_PORT, '0.0.0.0', () =>
  ending.listen(ENDING_PORT, '0.0.0.0', () => process.stdout.write('listening\n')),
);
