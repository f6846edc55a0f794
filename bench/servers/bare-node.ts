// The smallest server of Node.js: what a start costs at least.
import { createServer } from 'node:http';

createServer((_request, response) => void response.end('{}')).listen(
  Number(process.env['PORT']),
  '127.0.0.1',
);
