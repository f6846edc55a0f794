import { isRecord, own } from '../../core/untrusted/fields.ts';
import { DEFAULT_MODEL_CONFIG } from './kagent-model.ts';

/** A resource that an Agent refers to and that its conversion reads. */
export interface KagentReference {
  kind: 'ModelConfig' | 'RemoteMCPServer' | 'ToolServer';
  namespace: string;
  name: string;
}

/** The resources to get with an Agent of the API server. `namespace`: that of the agent. */
export function kagentReferences(agent: unknown, namespace: string): KagentReference[] {
  const spec = memberOf(agent, 'spec');
  const body = memberOf(spec, 'declarative') ?? spec;
  const config = memberOf(body, 'modelConfig');
  const references = [
    referenceTo('ModelConfig', typeof config === 'string' ? config : DEFAULT_MODEL_CONFIG, namespace),
  ];
  const tools = memberOf(body, 'tools');
  for (const tool of Array.isArray(tools) ? (tools as unknown[]) : []) {
    const server = memberOf(tool, 'mcpServer');
    const [old, name, other] = ['toolServer', 'name', 'namespace'].map((key) => memberOf(server, key));
    if (typeof old === 'string') references.push(referenceTo('ToolServer', old, namespace));
    else if (typeof name === 'string' && memberOf(server, 'kind') === 'RemoteMCPServer')
      references.push({
        kind: 'RemoteMCPServer',
        namespace: typeof other === 'string' ? other : namespace,
        name,
      });
  }
  return [...new Map(references.map((each) => [JSON.stringify(each), each])).values()];
}

/** `name` or `namespace/name`. */
function referenceTo(kind: KagentReference['kind'], text: string, namespace: string): KagentReference {
  const [first = '', second] = text.split('/');
  return second === undefined ? { kind, namespace, name: first } : { kind, namespace: first, name: second };
}

const memberOf = (value: unknown, key: string): unknown => (isRecord(value) ? own(value, key) : undefined);
