import type { ToolOffer } from './model.ts';

/** A tool that runs inside the agent. */
export interface AgentTool extends ToolOffer {
  /** The effect cannot be undone, so the user's confirmation is required. */
  destructive: boolean;
  run(args: Readonly<Record<string, unknown>>): string;
}

interface Order {
  status: 'shipped' | 'open' | 'refunded';
  totalUsd: number;
}

/** Creates a new set of tools for a small shop. */
export function createTools(): AgentTool[] {
  const orders = new Map<string, Order>([
    ['A-17', { status: 'shipped', totalUsd: 42.5 }],
    ['A-18', { status: 'open', totalUsd: 9.99 }],
  ]);
  return [
    {
      name: 'calculator',
      description: 'Calculates with + - * / and parentheses',
      parameters: objectOf({ expression: 'such as 2 * (3 + 4)' }),
      destructive: false,
      run: ({ expression }) => String(calculate(String(expression))),
    },
    {
      name: 'lookup_order',
      description: 'Returns the status of an order',
      parameters: objectOf({ orderId: 'such as A-17' }),
      destructive: false,
      run: ({ orderId }) => describeOrder(String(orderId), orders.get(String(orderId))),
    },
    {
      name: 'refund_order',
      description: 'Refunds an order',
      parameters: objectOf({ orderId: 'such as A-17' }),
      destructive: true,
      run: ({ orderId }) => {
        const order = orders.get(String(orderId));
        if (order) order.status = 'refunded';
        return describeOrder(String(orderId), order);
      },
    },
  ];
}

function objectOf(members: Readonly<Record<string, string>>): Record<string, unknown> {
  const properties = Object.fromEntries(
    Object.entries(members).map(([name, description]) => [name, { type: 'string', description }]),
  );
  return { type: 'object', properties, required: Object.keys(members) };
}

function describeOrder(id: string, order: Order | undefined): string {
  return order
    ? `order ${id} is ${order.status}, ${order.totalUsd.toFixed(2)} USD`
    : `there is no order ${id}`;
}

/** Arithmetic by recursive descent: text from a model is never evaluated as code. Throws for an invalid expression. */
export function calculate(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?|[-+*/()]|\S/g) ?? [];
  let position = 0;
  const next = (): string | undefined => tokens[position++];
  const isNext = (...operators: string[]): boolean => operators.includes(tokens[position] ?? '');
  const factor = (): number => {
    const token = next();
    if (token === '-') return -factor();
    if (token === '(') {
      const value = sum();
      if (next() !== ')') throw new Error('a parenthesis is missing');
      return value;
    }
    const value = Number(token);
    if (token === undefined || Number.isNaN(value)) throw new Error(`${token ?? 'the end'} is not a number`);
    return value;
  };
  const product = (): number => {
    let value = factor();
    while (isNext('*', '/')) value = next() === '*' ? value * factor() : value / factor();
    return value;
  };
  const sum = (): number => {
    let value = product();
    while (isNext('+', '-')) value = next() === '+' ? value + product() : value - product();
    return value;
  };
  const value = sum();
  if (position < tokens.length) throw new Error(`unexpected ${tokens[position] ?? ''}`);
  return value;
}
