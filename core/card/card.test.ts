import { describe, expect, test } from '@jest/globals';
import { aManifest } from '../../testing/facts.ts';
import { cardOf } from './card.ts';

describe('the capability card', () => {
  test('of a manifest that says everything', () => {
    const manifest = aManifest({
      tools: [{ name: 'search', description: 'Finds things' }, { name: 'order' }],
      skills: [{ id: 'returns', version: '2' }, { id: 'search' }],
      api: { url: 'https://shop.example/a2a', streaming: true, chatEndpoint: { path: '/v1/chat' } },
    });
    manifest.metadata.tags = ['retail'];
    expect(cardOf(manifest)).toEqual({
      name: 'shop',
      description: 'Sells things',
      version: '1.0.0',
      supportedInterfaces: [
        { url: 'https://shop.example/a2a', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
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

  test('of a manifest without a public address invents no interface', () => {
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

  test('nor does an address that is still a reference', () => {
    expect(cardOf(aManifest({ api: { url: '$env:PUBLIC_URL' } })).supportedInterfaces).toEqual([]);
  });
});
