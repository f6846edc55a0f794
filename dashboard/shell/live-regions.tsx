import { reachable } from '../api/reachable.ts';
import { announcement } from '../parts/announce.ts';

/** Reads the texts of `announce` to screen readers. */
export function Announcer() {
  const { id, text } = announcement.value;
  return (
    <div class="visually-hidden" role="status">
      <span key={id}>{text}</span>
    </div>
  );
}

/** Shown while the server does not respond. The element is always there, because only changes of it are read. */
export function OfflineBanner() {
  return (
    <div role="status">
      {!reachable.value && (
        <p class="banner">
          <strong>Offline.</strong> The control plane does not respond. The data below may be out of date; the
          dashboard connects again by itself.
        </p>
      )}
    </div>
  );
}
