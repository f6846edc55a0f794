import { adminAction } from '../shapes/admin-action.ts';
import { auditHead } from '../shapes/audit-log.ts';
import { sentEvent } from '../shapes/audit-event.ts';
import { agentOrganisation } from '../shapes/agent-organisation.ts';
import { agentDetail } from '../shapes/agent-detail.ts';
import { agentRow, agentSelection, fleetEvent } from '../shapes/agent-row.ts';
import { coverageGap, coverageKind, coverageReport } from '../shapes/coverage.ts';
import { condition } from '../shapes/condition.ts';
import { agentHistory, fleetHistory, fleetPoint, historyChange, historyPoint } from '../shapes/history.ts';
import { me } from '../shapes/actor.ts';
import { stopDirective, stopEntry } from '../shapes/agent-stop.ts';
import { directives, sentDirective } from '../shapes/directive.ts';
import { drift } from '../shapes/drift.ts';
import { heartbeatReply } from '../shapes/heartbeat-reply.ts';
import { instanceStatus } from '../shapes/instance.ts';
import { shownStatus } from '../shapes/observation.ts';
import { manifestJudgement, notJudged, organisationRules } from '../shapes/organisation.ts';
import { outcomeCounts } from '../shapes/outcomes.ts';
import { agentKey } from '../shapes/registration.ts';
import { responseSchemas } from '../shapes/response.ts';
import { ruleState } from '../shapes/rule-state.ts';
import { storedEgress, storedGap, storedHealth, storedUsage } from '../shapes/stored.ts';
import { ref, type JsonSchema } from '../untrusted/json-schema.ts';
import { COMMON_SCHEMAS } from './schemas/common.ts';
import { SIDECAR_SCHEMAS } from './schemas/sidecar.ts';

/** Server-sent events, which no shape describes. */
const FleetStream: JsonSchema = {
  description:
    'Server-sent events: `ready` with an empty object, then `agents` with the data of `contentSchema`. Lines that start with a colon are comments.',
  type: 'string',
  contentMediaType: 'text/event-stream',
  contentSchema: ref('FleetEvent'),
};

const DirectiveStream: JsonSchema = {
  description:
    'Server-sent events `directives` with the data of `contentSchema`. Lines that start with a colon are comments.',
  type: 'string',
  contentMediaType: 'text/event-stream',
  contentSchema: ref('Directives'),
};

/** The tables of schemas. Each name is in one table. */
export const SCHEMA_TABLES: readonly Readonly<Record<string, JsonSchema>>[] = [
  COMMON_SCHEMAS,
  SIDECAR_SCHEMAS,
  { FleetStream, DirectiveStream },
  responseSchemas([outcomeCounts, agentRow, agentSelection, fleetEvent]),
  responseSchemas([agentHistory, historyPoint, historyChange, fleetHistory, fleetPoint, adminAction]),
  responseSchemas([sentEvent, auditHead]),
  responseSchemas([agentDetail, shownStatus, instanceStatus, drift, condition]),
  responseSchemas([me, stopDirective, stopEntry, directives]),
  responseSchemas([notJudged, sentDirective, manifestJudgement, organisationRules, agentOrganisation]),
  responseSchemas([coverageReport, coverageGap, coverageKind, ruleState]),
  responseSchemas([storedGap, storedHealth, storedUsage, storedEgress, heartbeatReply, agentKey]),
];

/** All schemas of responses, by name. */
export const SCHEMAS: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  SCHEMA_TABLES.flatMap((table) => Object.entries(table)),
);
