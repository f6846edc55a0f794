/** Sets an entry and moves it to the end of the insertion order. If the map has more than `max` entries, drops the oldest. */
export function setNewest<K, V>(map: Map<K, V>, [key, value]: [K, V], max: number): void {
  map.delete(key);
  map.set(key, value);
  const oldest = map.keys().next();
  if (map.size > max && !oldest.done) map.delete(oldest.value);
}
