import type { Manifest } from '../manifest/manifest.ts';

/** A2A 1.0 AgentCard, as far as a manifest can fill it. */
export interface AgentCard {
  name: string;
  description: string;
  version: string;
  /** Empty without `spec.api.url`: an agent that names no public address has no interface to offer. */
  supportedInterfaces: AgentInterface[];
  capabilities: { streaming: boolean; pushNotifications: boolean };
  /** Media types. */
  defaultInputModes: string[];
  defaultOutputModes: string[];
  skills: AgentSkill[];
}

export interface AgentInterface {
  url: string;
  protocolBinding: string;
  protocolVersion: string;
}

export interface AgentSkill {
  id: string;
  name: string;
  description: string;
  tags: string[];
}

const A2A_VERSION = '1.0';
const TEXT = 'text/plain';

/** The card that `/capabilities`, `/.well-known/agent-card.json` and the export give alike. Declared tools and skills are its skills. */
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

/** A reference that nobody has resolved is no address that a client could use. */
function interfacesOf(manifest: Manifest): AgentInterface[] {
  const url = manifest.spec.api?.url;
  if (url === undefined || url.startsWith('$')) return [];
  return [{ url, protocolBinding: 'HTTP+JSON', protocolVersion: A2A_VERSION }];
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
