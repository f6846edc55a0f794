// Preloaded into a sidecar (NODE_OPTIONS=--require): its servers leave Nagle's algorithm on, as Node.js servers of `net` do by
// default.
const net = require('node:net');

const { listen } = net.Server.prototype;
const { setNoDelay } = net.Socket.prototype;

net.Server.prototype.listen = function (...args) {
  this.noDelay = false;
  return listen.apply(this, args);
};
net.Socket.prototype.setNoDelay = function (...args) {
  return this.server ? this : setNoDelay.apply(this, args);
};
