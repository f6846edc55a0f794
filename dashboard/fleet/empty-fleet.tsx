import { CodeBlock } from '../parts/code-block.tsx';
import { Empty } from '../parts/empty.tsx';
import { mayReadSome } from '../permissions.ts';
import { me } from '../session.ts';

const INJECT = [
  'kubectl create configmap my-agent-manifest --from-file=agent.yaml',
  `kubectl patch deployment my-agent -p '{"spec":{"template":{"metadata":{"annotations":{"platform.io/inject":"true"}}}}}'`,
].join('\n');

/** The caller may read nothing. */
export function NoRight() {
  return (
    <Empty title="You may not read the agents of any namespace">
      <p>
        Ask for a role in the namespaces of your agents. In a cluster, the right is{' '}
        <code>list agentobservations.platform.io</code>.
      </p>
    </Empty>
  );
}

/** The control plane has no agents yet: how to add the first one. */
export function EmptyFleet() {
  if (!mayReadSome(me.value)) return <NoRight />;
  const register = `platform register agent.yaml --url ${location.origin}`;
  return (
    <Empty title="No agents yet">
      <p>An agent appears here seconds after its first heartbeat. Add one in one of these ways:</p>
      <h2>In Kubernetes</h2>
      <p>Create the ConfigMap with the manifest, and set the annotation in the pod template:</p>
      <CodeBlock text={INJECT} label="Commands that inject the sidecar" />
      <h2>Elsewhere</h2>
      <p>
        Register the agent, and start its sidecar or reporter with the two variables that the command prints.
        The command needs the admin key in <code>PLATFORM_ADMIN_KEY</code>.
      </p>
      <CodeBlock text={register} label="Command that registers an agent" />
    </Empty>
  );
}
