import type { Me, Right } from '../core/shapes/actor.ts';

/** The rights of the admin key, for a control plane of an earlier version, which knows no other caller. */
export const ADMIN: Me = {
  method: 'admin-key',
  overage: false,
  can: { read: '*', stop: '*', resume: '*', prove: '*', admin: true },
  until: null,
};

/** Whether the caller has the right in a namespace; `'*'`: in every namespace. `me` null: not known yet. */
export function may(me: Me | null, right: Right, namespace: string): boolean {
  const where = me?.can[right] ?? [];
  return where === '*' || where.includes(namespace);
}

/** Whether the caller may read at least one namespace, or its rights are not known yet. */
export const mayReadSome = (me: Me | null): boolean => me === null || me.can.read.length > 0;

/** The name of the caller for the header. A key does not identify a person. */
export function nameOf({ method, name, sub }: Me): string {
  if (method === 'admin-key') return 'admin key';
  if (method === 'read-key') return 'read key';
  return name ?? sub ?? 'signed in';
}
