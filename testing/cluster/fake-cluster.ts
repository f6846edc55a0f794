import { afterEach, beforeEach } from '@jest/globals';
import { KubeClient } from '../../kube/client.ts';
import { startFakeApiServer, type FakeApiServer } from './fake-api-server.ts';

/** Members are valid while a test runs. */
export interface FakeCluster {
  server: FakeApiServer;
  client: KubeClient;
}

/** Starts a fake API server with a client before each test of the file or block, and closes both after it. */
export function fakeClusterOfEachTest(): FakeCluster {
  const cluster = {} as FakeCluster;
  beforeEach(async () => {
    cluster.server = await startFakeApiServer();
    cluster.client = new KubeClient({ access: cluster.server.access, part: 'test' });
  });
  afterEach(async () => {
    await cluster.client.close();
    await cluster.server.close();
  });
  return cluster;
}
