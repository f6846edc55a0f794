// @fastify/http-proxy as in its README.
import httpProxy from '@fastify/http-proxy';
import fastify from 'fastify';

const app = fastify();
await app.register(httpProxy, { upstream: process.env['UPSTREAM_URL'] ?? '' });
await app.listen({ port: Number(process.env['PORT']), host: '127.0.0.1' });
