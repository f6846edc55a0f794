// The smallest server of Node.js: what a start costs at least. CommonJS, as the bundle of the sidecar.
const { createServer } = require('node:http');

createServer((_request, response) => response.end('{}')).listen(Number(process.env.PORT), '127.0.0.1');
