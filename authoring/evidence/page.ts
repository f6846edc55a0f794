import type { EvidenceBundle } from './bundle.ts';
import { CONTROL_STATES, type Control, type ControlState, type Framework } from './controls.ts';
import { digest, html, table, time, type Html } from './html.ts';
import {
  auditLog,
  exceptions,
  findings,
  instances,
  outcomes,
  proofs,
  stops,
  verdict,
} from './page-sections.ts';
import { lastDayOf } from './range.ts';
import { STYLE } from './style.ts';

/** Marks of the states, which do not depend on colour. */
const MARKS: Readonly<Record<ControlState, string>> = {
  contradicted: '✗',
  shown: '✓',
  declared: '○',
  'not declared': '–',
  'nothing seen': '·',
  'not assessed': ' ',
};

const MEANINGS: Readonly<Record<ControlState, string>> = {
  contradicted: 'a rule or an issue that is directly about the control fails',
  shown: 'a rule or a capability that is directly about the control has evidence in the range',
  declared: 'the manifest declares it; nothing in the range shows it',
  'not declared': 'the manifest does not declare it',
  'nothing seen': 'a rule or an issue is about it, and the bundle has nothing of it',
  'not assessed': 'the product has no evidence about it; the reason is given',
};

/** `evidence.html`: the bundle for a person. @param sha256 that of evidence.json */
export function pageOf(bundle: EvidenceBundle, sha256: string): string {
  const { agent, range } = bundle;
  const name = agent.namespace === null ? agent.name : `${agent.namespace}/${agent.name}`;
  const days = `${range.from.slice(0, 10)} to ${lastDayOf(range)}`;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Evidence: ${name}, ${days}</title>
        <style>
          ${STYLE}
        </style>
      </head>
      <body>
        <header>
          <h1>Evidence for ${name}</h1>
          <p class="range">${days} (UTC days)</p>
        </header>
        ${[overview(bundle, sha256), limits(bundle), controlSummary(bundle), verdict(bundle), findings(bundle)]}
        ${[proofs(bundle), outcomes(bundle), stops(bundle), exceptions(bundle), auditLog(bundle), instances(bundle)]}
        <h2>Controls</h2>
        ${[bundle.frameworks.map(framework), rowTexts(bundle)]}
      </body>
    </html> `.text;
}

function overview(
  { manifest, verdict: now, generatedAt, generator, source }: EvidenceBundle,
  sha256: string,
): Html {
  const reported = {
    true: 'the agent runs with it',
    false: 'the agent runs with another one',
    null: 'whether the agent runs with it is not known',
  };
  const { verdict: found } = now;
  return html`<section class="overview">
    <dl>
      <dt>Verdict at the time of the bundle</dt>
      <dd>
        <strong>Compliant: ${found?.status ?? 'Unknown'}</strong>${found === null ? '' : `. ${found.message}`}
      </dd>
      <dt>Score</dt>
      <dd>
        ${now.score === null ? 'not known' : `${now.score} of 100, grade ${now.grade}`}; policy mode:
        ${now.policyMode ?? 'not known'}
      </dd>
      <dt>Manifest (SHA-256)</dt>
      <dd>
        ${manifest === null ? 'not included' : html`${digest(manifest.sha256)} (${reported[`${manifest.isReported}`]})`}
      </dd>
      <dt>evidence.json (SHA-256)</dt>
      <dd>${digest(sha256)}</dd>
      <dt>Made</dt>
      <dd>
        ${time(generatedAt)} by ${generator.name} ${generator.version}, from
        ${source === null ? 'log files' : `${source.kind === 'sidecar' ? 'a sidecar' : 'the control plane'} at ${source.url}`}
      </dd>
    </dl>
  </section>`;
}

const limits = ({ notIncluded }: EvidenceBundle): Html =>
  html`<section>
    <h2>What this bundle does not show</h2>
    <p>
      It shows what was reported and observed. It does not show that a control is met, that every event was
      recorded, or that a declaration is true. A signature shows who signed and that nothing was changed
      afterwards.
    </p>
    ${table(
      ['Not included', 'Reason'],
      notIncluded.map(({ part, reason }) => [part, reason]),
      'Every part is included.',
    )}
  </section>`;

const mark = (state: ControlState): Html =>
  html`<span class="state ${state.replace(' ', '-')}"
    ><b aria-hidden="true">${MARKS[state]}</b> ${state}</span
  >`;

const controlSummary = ({ frameworks }: EvidenceBundle): Html =>
  html`<section>
    <h2>Controls by state</h2>
    ${table(
      ['Framework', ...CONTROL_STATES],
      frameworks.map(({ id, title, counts }) => [
        html`<a href="#${id}">${title}</a>`,
        ...CONTROL_STATES.map((state) => counts[state]),
      ]),
      '',
    )}
    <dl class="legend">
      ${CONTROL_STATES.map(
        (state) =>
          html`<dt>${mark(state)}</dt>
            <dd>${MEANINGS[state]}</dd>`,
      )}
    </dl>
  </section>`;

/** The assessed controls, and the others by reason. */
function framework({ id, title, controls }: Framework): Html {
  const assessed = controls.filter(({ state }) => state !== 'not assessed');
  const others = Map.groupBy(
    controls.filter(({ state }) => state === 'not assessed'),
    ({ reason }) => reason,
  );
  const name = ({ id: control, level, title: text }: Control): Html =>
    html`<b>${control}</b
      >${level === undefined ? '' : ` (level ${level})`}${text === undefined ? '' : ` ${text}`}`;
  return html`<details open id="${id}">
    <summary>${title}: ${assessed.length} of ${controls.length} controls assessed</summary>
    ${table(
      ['Control', 'State', 'Reason'],
      assessed.map((control) => [name(control), mark(control.state), control.reason]),
      'No control is assessed.',
    )}
    ${[...others].map(
      ([reason, all]) =>
        html`<p class="unassessed">
          <b>Not assessed</b>, ${reason}: ${all.map((control) => control.id).join(', ')}.
        </p>`,
    )}
  </details>`;
}

/** What the evidence of the controls shows, and what it cannot show. */
const rowTexts = ({ rows }: EvidenceBundle): Html =>
  html`<h2>What the evidence shows, and what it does not show</h2>
    ${table(
      ['Evidence', 'State', 'Shows', 'Does not show'],
      rows
        .filter(({ state, shows }) => state !== 'nothing seen' && shows !== undefined)
        .map(({ id, state, shows, doesNotShow }) => [
          ...[id, state === 'suppressed' ? state : mark(state), shows ?? '', doesNotShow ?? ''],
        ]),
      'There is no evidence.',
    )}`;
