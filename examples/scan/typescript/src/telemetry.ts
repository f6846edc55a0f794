import { NodeSDK } from '@opentelemetry/sdk-node';
import { pino } from 'pino';
import { collectDefaultMetrics, register } from 'prom-client';

export const log = pino({ redact: ['customer.email'] });

export function startTelemetry(): void {
  new NodeSDK({ serviceName: 'support-desk' }).start();
  collectDefaultMetrics();
}

export const metrics = () => register.metrics();
