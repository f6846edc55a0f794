import { Component } from 'preact';
import type { AgentRow } from '../../core/shapes/agent-row.ts';
import { countText, formatNumber } from '../format.ts';
import { COLUMNS } from './columns.tsx';
import { isGroup, rowKey, type FleetRow, type Group } from './rows.ts';
import { toggleGroup } from './view.ts';

export interface GridRowProps {
  row: FleetRow;
  /** Index in the whole table. */
  index: number;
  /** The tab key leads to this row. */
  isActive: boolean;
}

/** A row of the table. It renders only when its agent or its place changed. */
export class GridRow extends Component<GridRowProps> {
  override shouldComponentUpdate(next: GridRowProps): boolean {
    const { row, index, isActive } = this.props;
    return row !== next.row || index !== next.index || isActive !== next.isActive;
  }

  override render() {
    const { row, index, isActive } = this.props;
    return (
      <div
        class={isGroup(row) ? 'grid-row grid-group' : 'grid-row'}
        role="row"
        // The heading is the first row.
        aria-rowindex={index + 2}
        data-key={rowKey(row)}
      >
        {isGroup(row) ? groupCell(row, isActive) : agentCells(row, isActive)}
      </div>
    );
  }
}

function agentCells(agent: AgentRow, isActive: boolean) {
  return COLUMNS.map(({ key, title, isNumeric, render }) => (
    <div
      key={key}
      class={isNumeric ? `cell col-${key} numeric` : `cell col-${key}`}
      role="gridcell"
      data-label={title}
    >
      {render(agent, isActive)}
    </div>
  ));
}

function groupCell({ namespace, agents, failing, isCollapsed }: Group, isActive: boolean) {
  return (
    <div class="cell" role="gridcell" aria-colspan={COLUMNS.length}>
      <button
        type="button"
        class="group-toggle"
        aria-expanded={!isCollapsed}
        tabIndex={isActive ? 0 : -1}
        onClick={() => toggleGroup(namespace)}
      >
        {namespace}
      </button>
      <span class="muted">
        {countText(agents, 'agent')}, {formatNumber(failing)} failing
      </span>
    </div>
  );
}
