import { reachable } from '../api/reachable.ts';
import { announcement } from '../parts/announce.ts';
import { me } from '../session.ts';

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

/** Without groups the caller has no role, which looks like an empty installation. */
export function OverageBanner() {
  if (me.value?.overage !== true) return null;
  return (
    <p class="banner" role="status">
      Your identity provider sent too many groups; ask for groups assigned to the application.
    </p>
  );
}
