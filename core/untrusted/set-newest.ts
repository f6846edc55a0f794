/** Sets an entry as the newest of a map in the order of insertion; beyond `max` entries the oldest is dropped. */
export function setNewest<K, V>(map: Map<K, V>, [key, value]: [K, V], max: number): void {
  map.delete(key);
  map.set(key, value);
  const oldest = map.keys().next();
  if (map.size > max && !oldest.done) map.delete(oldest.value);
}
