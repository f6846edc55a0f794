import { expect, test } from '@jest/globals';
import { documentedCommands } from './documented-commands.ts';

test('finds every command block under a heading, with the output shown below it', () => {
  const blocks = documentedCommands('README.md', 'In Kubernetes');
  expect(blocks.map(({ title, output }) => [title.split(' ', 2).join(' '), output.length])).toEqual([
    ['helm install', 0],
    ['kubectl apply', 0],
    ['kubectl create', 0],
    ['kubectl wait', 2],
    ['kubectl set', 2],
    ['kubectl delete', 0],
  ]);
});

test('throws for a missing heading and for a heading without commands', () => {
  expect(() => documentedCommands('README.md', 'In the clouds')).toThrow(
    'README.md has no commands under "In the clouds"',
  );
});
