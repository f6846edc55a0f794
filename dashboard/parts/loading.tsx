/** Shown until the first data are there. `what`: a noun, such as "agents". */
export function Loading({ what }: { what: string }) {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading {what}…</span>
      <div class="skeleton" aria-hidden="true" />
      <div class="skeleton" aria-hidden="true" />
      <div class="skeleton" aria-hidden="true" />
    </div>
  );
}
