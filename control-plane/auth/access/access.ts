import type { Right } from '../../../core/shapes/actor.ts';
import type { Principal } from '../principal.ts';

/**
 * What a caller may do. `withdraw`: delete proofs. `register` and `remove`: create and delete remote agents. `actions`: read the log
 * of admin actions, which is about all namespaces.
 */
export type AccessRight = Right | 'withdraw' | 'register' | 'remove' | 'actions';

/** What each right allows, for messages. */
export const ABOUT: Readonly<Record<AccessRight, string>> = {
  read: 'read agents',
  stop: 'stop agents',
  resume: 'end stops',
  prove: 'submit proofs',
  withdraw: 'delete proofs',
  register: 'register agents',
  remove: 'delete agents',
  actions: 'read the log of admin actions',
};

/** Decides what callers may do. */
export interface Access {
  /**
   * Rejects with a Problem 503 if it cannot be decided.
   * @param namespace null: in every namespace
   */
  can(principal: Principal, right: AccessRight, namespace: string | null): Promise<boolean>;
  /** Whether a role names the group. Absent: not known. */
  isNamed?(group: string): boolean;
}

/** Neither a cluster nor a file of roles: only keys have rights. */
export const NO_ACCESS: Access = { can: () => Promise.resolve(false) };

/** The rights of keys, and those of other callers from `others`. */
export function withKeys(others: Access): Access {
  return {
    can: (principal, right, namespace) => {
      const { method } = principal;
      if (method === 'admin-key') return Promise.resolve(true);
      if (method === 'read-key') return Promise.resolve(right === 'read');
      return others.can(principal, right, namespace);
    },
  };
}

/**
 * The namespaces in which the caller has the right, in the order of `known`; null: every namespace.
 * @param known the namespaces that have agents
 */
export async function namespacesWith(
  { access, namespaces: known }: { access: Access; namespaces: () => Promise<readonly string[]> },
  principal: Principal,
  right: AccessRight,
): Promise<readonly string[] | null> {
  if (await access.can(principal, right, null)) return null;
  const all = await known();
  const allowed = await Promise.all(all.map((namespace) => access.can(principal, right, namespace)));
  return all.filter((_namespace, index) => allowed[index]);
}
