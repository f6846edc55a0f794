import { annotationDefaults } from '../../core/injection/annotations.ts';
import { buildSidecar, buildVolumes, type InjectionPlan } from '../../core/injection/build-sidecar.ts';
import { DEFAULT_EGRESS } from '../../core/injection/egress.ts';
import { injectionSettings } from './pods.ts';

/** Init containers and volumes of an injected pod of this agent. */
export function injectedSpec(agentName: string): { initContainers: object[]; volumes: object[] } {
  const settings = injectionSettings();
  const plan: InjectionPlan = {
    agentName,
    agentPort: 8000,
    manifestConfigMap: `${agentName}-manifest`,
    image: settings.image,
    otlp: false,
    egress: DEFAULT_EGRESS,
    ...annotationDefaults((key) => settings[key]),
  };
  return {
    initContainers: [buildSidecar(plan, { name: 'agent' }, [], settings)],
    volumes: buildVolumes(plan, settings),
  };
}
