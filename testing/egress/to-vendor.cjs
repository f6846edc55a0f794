// Preloaded into a process (NODE_OPTIONS=--require): its TLS connections to port 443 lead to the fake vendor on
// VENDOR_TLS_PORT, with the name of the real vendor in the handshake, and so do its tunnels to port 443. So the lanes run with the
// vendors' own addresses.
const { syncBuiltinESMExports } = require('node:module');
const net = require('node:net');
const tls = require('node:tls');

const { connect } = tls;
const { connect: connectTcp } = net;

tls.connect = function (options, ...rest) {
  if (typeof options !== 'object' || Number(options?.port) !== 443)
    return connect.call(this, options, ...rest);
  const servername = options.servername || options.host;
  const led = { ...options, servername, host: '127.0.0.1', port: Number(process.env.VENDOR_TLS_PORT) };
  return connect.call(this, led, ...rest);
};

net.connect = function (options, ...rest) {
  if (typeof options !== 'object' || Number(options?.port) !== 443)
    return connectTcp.call(this, options, ...rest);
  const { lookup: _, ...led } = { ...options, host: '127.0.0.1', port: Number(process.env.VENDOR_TLS_PORT) };
  return connectTcp.call(this, led, ...rest);
};
syncBuiltinESMExports();
