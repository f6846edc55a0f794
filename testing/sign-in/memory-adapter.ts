import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

/** Keeps what a provider stores, such as codes and sessions, in the memory of the test. Nothing expires. */
export function memoryAdapter(): AdapterFactory {
  const stored = new Map<string, AdapterPayload>();
  return (model): Adapter => {
    const keyOf = (id: string): string => `${model} ${id}`;
    const findBy = (member: 'uid' | 'userCode', wanted: string): AdapterPayload | undefined =>
      [...stored].find(([key, payload]) => key.startsWith(keyOf('')) && payload[member] === wanted)?.[1];
    return {
      upsert: async (id, payload) => void stored.set(keyOf(id), payload),
      find: async (id) => stored.get(keyOf(id)),
      findByUid: async (uid) => findBy('uid', uid),
      findByUserCode: async (userCode) => findBy('userCode', userCode),
      consume: async (id) => void Object.assign(stored.get(keyOf(id)) ?? {}, { consumed: 1 }),
      destroy: async (id) => void stored.delete(keyOf(id)),
      revokeByGrantId: async (grantId) => {
        for (const [key, payload] of stored) if (payload.grantId === grantId) stored.delete(key);
      },
    };
  };
}
