import type { EgressReport, UnseenEgress } from '../../core/shapes/egress.ts';
import { countText, formatNumber } from '../format.ts';
import { Ago } from '../parts/ago.tsx';
import { Card } from '../parts/card.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { SHARED_ADDRESS } from './matrix-rows.ts';

/** The connections that nothing explains, or why they are not known. */
export function CensusCard({ egress }: { egress: EgressReport }) {
  const { unseen, unseenTotal = unseen?.length ?? 0, unexplainedOpens = 0, census } = egress;
  const state = census?.state ?? (egress.unseenEgress === undefined ? 'off' : 'on');
  return (
    <Card
      title="Unseen egress"
      actions={<span class={`note-tag ${state === 'refused' ? 'is-warn' : ''}`}>census {state}</span>}
    >
      {state === 'on' ? (
        <>
          <p class="intro">
            Connections of the last 24 hours that no lane, no declared host and no connection of the sidecar
            explains. {opensText(unexplainedOpens)}
          </p>
          {unseen === undefined ? (
            <p>{unexplainedText(egress.unseenEgress ?? 0)}</p>
          ) : (
            <UnseenTable unseen={unseen} />
          )}
          {unseen !== undefined && unseen.length < unseenTotal && (
            <p class="muted">
              The newest {formatNumber(unseen.length)} of {addressesText(unseenTotal)} are listed.
            </p>
          )}
        </>
      ) : (
        <p>
          {state === 'off'
            ? 'The sidecar does not list connections, so calls that bypass the lanes are not seen. '
            : `The sidecar refuses to list connections: ${census?.reason ?? 'no reason is known'}. `}
          {FIXES[state]}
        </p>
      )}
    </Card>
  );
}

const FIXES = {
  off: (
    <>
      Remove the pod annotation <code>platform.io/census: "false"</code>, or start the sidecar with{' '}
      <code>CENSUS=on</code> in a network namespace of its own.
    </>
  ),
  refused: (
    <>
      Run the agent in a pod without <code>hostNetwork</code>, or in a container with a network of its own.
    </>
  ),
};

const opensText = (count: number): string =>
  count === 0
    ? 'No connection ended before its address was seen.'
    : `${countText(count, 'connection')} ended before the address was seen.`;

const ALL_EXPLAINED = 'Every address that was seen is explained.';
const unexplainedText = (count: number): string =>
  count === 0 ? ALL_EXPLAINED : `Nothing explains ${addressesText(count)}.`;

const addressesText = (count: number): string => countText(count, 'address', 'addresses');

function UnseenTable({ unseen }: { unseen: readonly UnseenEgress[] }) {
  return (
    <DataTable
      caption="Addresses that nothing explains, newest first"
      rows={unseen}
      rowKey={({ address, port }) => `${address} ${port}`}
      empty={ALL_EXPLAINED}
      columns={[
        {
          title: 'Address',
          width: '26%',
          render: ({ address, port, name, lanes }) => (
            <>
              <code>{address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`}</code>
              {name !== null && <p class="muted">{name}</p>}
              {lanes !== undefined && <p class="muted">past lane {lanes.join(', ')}</p>}
            </>
          ),
        },
        { title: 'Connections', width: '11%', numeric: true, render: ({ count }) => formatNumber(count) },
        { title: 'First seen', width: '12%', render: (row) => <Ago time={row.firstSeen} /> },
        { title: 'Last seen', width: '12%', render: (row) => <Ago time={row.lastSeen} /> },
        {
          title: 'State',
          width: '11%',
          render: ({ verdict }) => (
            <span class={`note-tag ${verdict === 'undeclared' ? 'is-bad' : ''}`}>{verdict}</span>
          ),
        },
        {
          title: 'Fix',
          width: '28%',
          render: ({ verdict, lanes }) => (lanes === undefined ? UNSEEN_FIXES[verdict] : PAST_LANE),
        },
      ]}
    />
  );
}

const PAST_LANE =
  'Let the client use the lane, or declare the host in spec.egress.hosts if it must be called directly.';

const UNSEEN_FIXES: Readonly<Record<UnseenEgress['verdict'], string>> = {
  undeclared: 'Declare the host in spec.egress.hosts, or send the calls through an egress lane.',
  unknown: SHARED_ADDRESS,
};
