// Planted violation: a part must not reach for the Kubernetes client.
import * as client from '@kubernetes/client-node';

export const planted = client.KubeConfig;
