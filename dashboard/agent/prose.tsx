/** A text of the API, in which backticks mark code. */
export function Prose({ text }: { text: string }) {
  const parts = text.split('`');
  // An odd number of backticks: the last one marks nothing.
  if (parts.length % 2 === 0) return <>{text}</>;
  return <>{parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}
