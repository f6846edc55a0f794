import { expect, test } from '@jest/globals';
import { documentedCommands } from './documented-commands.ts';

test('finds every block of commands under a heading, with what is shown below it', () => {
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

test('does not take a heading that is not there for one without commands', () => {
  expect(() => documentedCommands('README.md', 'In the clouds')).toThrow(
    'README.md has no commands under "In the clouds"',
  );
});
