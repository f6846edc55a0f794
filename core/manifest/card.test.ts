import { describe, expect, test } from '@jest/globals';
import { aManifest } from '../../testing/fleet/facts.ts';
import type { Api } from './manifest.ts';
import type { AgentInterface } from '../shapes/agent-card.ts';
import { cardOf } from './card.ts';

describe('capability card', () => {
  test('has all fields of a full manifest', () => {
    const manifest = aManifest({
      tools: [{ name: 'search', description: 'Finds things' }, { name: 'order' }],
      skills: [{ id: 'returns', version: '2' }, { id: 'search' }],
      api: {
        url: 'https://shop.example/',
        a2a: { protocolBinding: 'JSONRPC', path: '/a2a' },
        streaming: true,
        chatEndpoint: { path: '/v1/chat' },
      },
    });
    manifest.metadata.tags = ['retail'];
    expect(cardOf(manifest)).toEqual({
      name: 'shop',
      description: 'Sells things',
      version: '1.0.0',
      supportedInterfaces: [
        { url: 'https://shop.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      ],
      capabilities: { streaming: true, pushNotifications: false },
      defaultInputModes: ['text/plain', 'application/json'],
      defaultOutputModes: ['text/plain', 'application/json'],
      skills: [
        { id: 'search', name: 'search', description: 'Finds things', tags: ['tool', 'retail'] },
        { id: 'order', name: 'order', description: 'The tool order', tags: ['tool', 'retail'] },
        { id: 'returns', name: 'returns', description: 'The skill returns 2', tags: ['skill', 'retail'] },
      ],
    });
  });

  test('has no interface when the manifest has no public address', () => {
    expect(cardOf(aManifest())).toEqual({
      name: 'shop',
      description: 'Sells things',
      version: '1.0.0',
      supportedInterfaces: [],
      capabilities: { streaming: false, pushNotifications: false },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [],
    });
  });

  const URL = 'https://shop.example/agent';
  test.each<[string, Api, AgentInterface[]]>([
    ['A2A is not declared', { url: URL, chatEndpoint: { path: '/v1/chat' } }, []],
    [
      'the interface is at the public address',
      { url: URL, a2a: { protocolBinding: 'HTTP+JSON' } },
      [{ url: URL, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }],
    ],
    [
      'the interface has its own path and an older version',
      { url: `${URL}/`, a2a: { protocolBinding: 'JSONRPC', path: '/a2a', protocolVersion: '0.3' } },
      [{ url: `${URL}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }],
    ],
    ['there is no address', { a2a: { protocolBinding: 'JSONRPC' } }, []],
    ['the address is a reference', { url: '$env:PUBLIC_URL', a2a: { protocolBinding: 'JSONRPC' } }, []],
    ['the path is a reference', { url: URL, a2a: { protocolBinding: 'JSONRPC', path: '$env:A2A' } }, []],
    ['the address is a WebSocket', { url: 'wss://shop.example', a2a: { protocolBinding: 'JSONRPC' } }, []],
  ])('has the expected interfaces when %s', (_title, api, expected) => {
    expect(cardOf(aManifest({ api })).supportedInterfaces).toEqual(expected);
  });
});
