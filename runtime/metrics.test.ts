import { expect, test } from '@jest/globals';
import { createMetrics } from './metrics.ts';

test('renders metrics in the text format, in the order of their declaration', () => {
  const metrics = createMetrics();
  const requests = metrics.counter('requests_total', 'Requests.');
  const seconds = metrics.histogram('request_seconds', 'Duration.', [0.1, 1]);
  metrics.gauge('open', 'Open now.', () => [{ value: 2 }, { labels: { kind: 'a"b\\c\nd' }, value: 0.5 }]);
  metrics.counter('never_total', 'Never incremented.');
  requests.add({ status: '200' });
  requests.add({ status: '200' }, 2);
  requests.add();
  seconds.observe(0.1, { queue: 'q' });
  seconds.observe(0.5, { queue: 'q' });
  seconds.observe(3, { queue: 'q' });
  expect(metrics.render().split('\n')).toEqual([
    '# HELP requests_total Requests.',
    '# TYPE requests_total counter',
    'requests_total{status="200"} 3',
    'requests_total 1',
    '# HELP request_seconds Duration.',
    '# TYPE request_seconds histogram',
    'request_seconds_bucket{queue="q",le="0.1"} 1',
    'request_seconds_bucket{queue="q",le="1"} 2',
    'request_seconds_bucket{queue="q",le="+Inf"} 3',
    'request_seconds_sum{queue="q"} 3.6',
    'request_seconds_count{queue="q"} 3',
    '# HELP open Open now.',
    '# TYPE open gauge',
    'open 2',
    'open{kind="a\\"b\\\\c\\nd"} 0.5',
    '# HELP never_total Never incremented.',
    '# TYPE never_total counter',
    '',
  ]);
});
