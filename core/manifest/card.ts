import { a2aAddress } from './a2a-address.ts';
import type { AgentCard, AgentInterface, AgentSkill } from '../shapes/agent-card.ts';
import type { Manifest } from './manifest.ts';

/** The default of the manifest schema. */
const DEFAULT_VERSION = '1.0';
const TEXT = 'text/plain';

/** The card for `/capabilities`, `/.well-known/agent-card.json` and the export. Declared tools and skills become its skills. */
export function cardOf(manifest: Manifest): AgentCard {
  const { metadata, spec } = manifest;
  const modes = spec.api?.chatEndpoint === undefined ? [TEXT] : [TEXT, 'application/json'];
  return {
    name: metadata.name,
    description: metadata.description,
    version: metadata.version,
    supportedInterfaces: interfacesOf(manifest),
    capabilities: { streaming: spec.api?.streaming ?? false, pushNotifications: false },
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: skillsOf(manifest),
  };
}

function interfacesOf({ spec: { api } }: Manifest): AgentInterface[] {
  const address = api === undefined ? null : a2aAddress(api);
  if (api?.a2a === undefined || address?.ok !== true) return [];
  const { protocolBinding, protocolVersion = DEFAULT_VERSION } = api.a2a;
  return [{ url: address.url, protocolBinding, protocolVersion }];
}

function skillsOf(manifest: Manifest): AgentSkill[] {
  const { spec, metadata } = manifest;
  const tools = (spec.tools ?? []).map((tool) => ({
    id: tool.name,
    name: tool.name,
    description: tool.description ?? `The tool ${tool.name}`,
    tags: ['tool', ...(metadata.tags ?? [])],
  }));
  const names = new Set(tools.map((tool) => tool.id));
  const skills = (spec.skills ?? [])
    .filter((skill) => !names.has(skill.id))
    .map((skill) => ({
      id: skill.id,
      name: skill.id,
      description: `The skill ${skill.id}${skill.version === undefined ? '' : ` ${skill.version}`}`,
      tags: ['skill', ...(metadata.tags ?? [])],
    }));
  return [...tools, ...skills];
}
