"""Heartbeats of an agent that has no sidecar: when they are sent, their token, and what they contain."""

from __future__ import annotations

import os
import random
import threading
import time
from socket import gethostname

from ._checks import model_id_of, targets_of
from ._http import Late, Reply, origin_of, post_json, url_below
from ._settings import at, is_sendable, items_at, price_of
from ._shared import cut, debug, describe, info, is_record, iso_time, json_bytes, json_of, reported_name, utc_now, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ._settings import PushOptions, PushSettings
    from .reporter import Reporter

    # A new key with its end, or the reason why there is none.
    Renewal = tuple[str, str] | str
    Json = dict[str, Any]

_TIMEOUT_SECONDS = 10.0
_LAST_BEAT_SECONDS = 1.0
_TRIGGER_GAP_SECONDS = 1.0
_FIRST_RETRY_SECONDS = 1.0
_DEFAULT_LIMIT_SECONDS = 10.0
_LONGEST_WAIT_SECONDS = 3600.0
_SPREAD = 0.1


class Pusher:
    """Pushes heartbeats from a thread until it is stopped. An unavailable control plane does not affect the agent."""

    def __init__(self, reporter: Reporter, settings: PushSettings) -> None:
        self._reporter = reporter
        self._options, self._url = settings
        self._instance = self._options.instance or gethostname()
        self._bearer = Bearer(self._options, self._renew)
        self._changed = threading.Condition()
        self._is_stopped = self._is_triggered = False
        self._last_status: str | None = None
        # The sequence starts at 1, so the control plane needs a new start time.
        self._started_at = iso_time(utc_now())
        self._seq = 1
        self._interval: float = self._options.interval_seconds
        self._failures = 0
        self._timeout = _TIMEOUT_SECONDS
        self._seen = SeenTimes()
        self._thread = threading.Thread(target=self._run, name="platform-push", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Sends a last heartbeat (best effort) and stops, within about a second."""
        with self._changed:
            self._is_stopped = True
            self._timeout = _LAST_BEAT_SECONDS
            self._changed.notify_all()
        # A push in flight goes on with its own limit, and is the last one. Without a free thread none was started.
        if self._thread.is_alive():
            self._thread.join(_LAST_BEAT_SECONDS + 0.2)

    def note_status(self, status: str) -> None:
        """Sends a heartbeat early if the health status has changed. Back-off and Retry-After still apply."""
        with self._changed:
            if self._last_status not in (None, status):
                self._is_triggered = True
                self._changed.notify_all()
            self._last_status = status

    def _run(self) -> None:
        while not self._is_stopped:
            self._is_triggered = False
            self._bearer.renew_if_due()
            earliest, after = self._settled(self._push())
            self._pause(earliest, after)
        if self._push()[0] != "accepted":
            debug("final heartbeat not delivered")

    def _pause(self, earliest: float, after: float) -> None:
        started = time.monotonic()
        with self._changed:
            while not self._is_stopped:
                passed = time.monotonic() - started
                left = (earliest if self._is_triggered else after) - passed
                if left <= 0:
                    return
                self._changed.wait(left)

    def _push(self) -> tuple[str, Any]:
        """`accepted`, `limited` with seconds, `refused` with status and detail, or `failed` with the reason."""
        heartbeat_id = f"{self._started_at} {self._seq}"
        try:
            # Before composing: without a token no checks are needed.
            bearer = self._bearer.current()
            body, is_shortened = fit(self._composed(heartbeat_id))
        except Exception as error:
            return "failed", describe(error)
        if is_shortened:
            warn("heartbeat shortened to the size limit", seq=self._seq)
        reply = self._post(bearer, "/api/v1/heartbeat", body)
        if isinstance(reply, str):
            return "failed", reply
        if 200 <= reply.status <= 299:
            self._accept(reply, heartbeat_id)
            return "accepted", None
        wait = retry_after(reply.headers.get("retry-after"), utc_now())
        if reply.status == 429 or (reply.status == 503 and wait is not None):
            return "limited", _DEFAULT_LIMIT_SECONDS if wait is None else wait
        return "refused", _refusal(reply, bearer)

    def _composed(self, heartbeat_id: str) -> dict[str, Any]:
        reporter = self._reporter
        health = reporter.get_report()
        if health is None:
            raise RuntimeError("no health report yet")
        usage, totals = reporter.take_usage(heartbeat_id)
        return compose(
            reporter.manifest,
            health,
            self._seen,
            {
                "instance": self._instance,
                "seq": self._seq,
                "intervalSeconds": self._interval,
                "startedAt": self._started_at,
                "usage": usage,
                "totals": totals,
            },
        )

    def _accept(self, reply: Reply, heartbeat_id: str) -> None:
        self._seq += 1
        self._reporter.confirm_usage(heartbeat_id)
        interval = _member(reply, "intervalSeconds")
        if type(interval) is int and 10 <= interval <= 3600:
            self._interval = interval

    def _settled(self, outcome: tuple[str, Any]) -> tuple[float, float]:
        kind, detail = outcome
        if kind == "accepted":
            if self._failures > 0:
                info("heartbeats delivered again", after=self._failures)
            self._failures = 0
            after = _lengthened(self._interval)
            return min(_TRIGGER_GAP_SECONDS, after), after
        if kind == "limited":
            debug("heartbeat rate limited", seconds=detail)
            after = _lengthened(detail)
            return after, after
        self._failures += 1
        log = warn if self._failures == 1 else debug
        log("heartbeat not delivered", url=origin_of(self._url), kind=kind, reason=detail)
        doubled = _FIRST_RETRY_SECONDS * 2.0 ** min(self._failures - 1, 20)
        after = _lengthened(min(doubled, self._interval))
        return after, after

    def _renew(self, bearer: str) -> Renewal:
        reply = self._post(bearer, "/api/v1/token", None)
        if isinstance(reply, str):
            return reply
        if not 200 <= reply.status <= 299:
            return _refusal(reply, bearer)
        key, expires_at = _member(reply, "apiKey"), expiry_of(_member(reply, "expiresAt"))
        if not isinstance(key, str) or not is_sendable(key) or expires_at is None:
            return "the response contains no valid key"
        return key, expires_at

    def _post(self, bearer: str, path: str, body: bytes | None) -> Reply | str:
        """A text is the reason why there is no complete response."""
        url = url_below(self._url, path)
        try:
            return post_json(url, body, timeout=self._timeout, bearer=bearer, ca=self._ca())
        except Late as error:
            return str(error)
        except Exception as error:
            return _redacted(describe(error), bearer)

    def _ca(self) -> str | None:
        """Read each time, because the control plane's CA may be rotated while this process runs."""
        path = self._options.ca_file
        if path is None:
            return None
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise OSError(f"the CA file {path} cannot be read") from error


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds of a `Retry-After` header (seconds or an HTTP date); None for any other value."""
    text = (value or "").strip()
    if text.isdecimal() and text.isascii() and len(text) < 10:
        return min(float(text), _LONGEST_WAIT_SECONDS)
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(at - now, 0.0), _LONGEST_WAIT_SECONDS)


def _lengthened(pause: float) -> float:
    """Jitter only lengthens, because a shorter interval could exceed the control plane's rate limit."""
    return pause * (1 + _SPREAD * random.random())  # noqa: S311


def _member(reply: Reply, name: str) -> Any:
    value = json_of(reply.body or b"")
    return value.get(name) if is_record(value) else None


def _refusal(reply: Reply, bearer: str) -> str:
    """Status and `detail` of a problem body. Not the body itself: it may contain anything."""
    detail = _member(reply, "detail")
    text = detail[:300] if isinstance(detail, str) else ""
    return f"status {reply.status}: {_redacted(text, bearer)}"


def _redacted(text: str, key: str) -> str:
    return text.replace(key, "[secret]") if key else text


_MAX_TOKEN = 16_384


class Bearer:
    """The token, read for every push. A registration key is renewed after two thirds of its lifetime."""

    def __init__(self, options: PushOptions, renew: Callable[[str], Renewal]) -> None:
        self._key = options.key
        self._token_file = options.token_file
        self._store = options.key_store_path
        self._renew = renew
        # A renewed key, which may not be stored, and the stored key that it replaces.
        self._renewed: tuple[str, str] | None = None
        self._is_failing = False

    def current(self) -> str:
        return self._key_for(self._stored())

    def renew_if_due(self) -> None:
        """Never raises. The next push retries a failed renewal."""
        try:
            stored = self._stored()
        except OSError:
            # The push itself reports an unreadable token.
            return
        # The kubelet renews projected tokens.
        if self._token_file is not None and not is_registration_key(stored):
            return
        bearer = self._key_for(stored)
        if not is_renewal_due(bearer, utc_now()):
            return
        renewal = self._renew(bearer)
        if isinstance(renewal, str):
            log = debug if self._is_failing else warn
            log("control plane key renewal failed", reason=renewal)
            self._is_failing = True
            return
        self._is_failing = False
        key, expires_at = renewal
        self._renewed = (stored, key)
        info("control plane key renewed", expires_at=expires_at)
        self._keep(key)

    def _stored(self) -> str:
        if self._key is None:
            return read_token(self._token_file or "")
        return self._key if self._store is None else _newer_of(self._key, self._store)

    def _key_for(self, stored: str) -> str:
        """A key without a renewal: the agent was registered again, or another process renewed the key."""
        return self._renewed[1] if self._renewed is not None and self._renewed[0] == stored else stored

    def _keep(self, key: str) -> None:
        path = self._store if self._token_file is None else self._token_file
        if path is None:
            return
        try:
            replace_file(path, f"{key}\n")
        except OSError as error:
            message = "failed to write renewed key to its file, a restart uses the previous key"
            warn(message, path=path, reason=describe(error))


def read_token(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            token = file.read(_MAX_TOKEN + 2).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise OSError(f"the token file {path} cannot be read") from error
    if not token:
        raise OSError(f"the token file {path} is empty")
    if len(token) > _MAX_TOKEN or not is_sendable(token):
        raise OSError(f"the token file {path} does not contain a token")
    return token


def is_registration_key(token: str) -> bool:
    """Whether its holder renews the token. Cluster tokens are signed with a key pair, not HS256."""
    return _part_of(token, 0).get("alg") == "HS256"


def is_renewal_due(key: str, now: float) -> bool:
    """From two thirds of the lifetime to its end. The claims are read without verification, the server's task."""
    claims = _part_of(key, 1)
    expires, issued = _number(claims.get("exp")), _number(claims.get("iat", now))
    return expires is not None and issued is not None and issued + (expires - issued) * 2 / 3 <= now < expires


def replace_file(path: str, text: str) -> None:
    """Replaces a file atomically, readable only by its owner. The target of a symbolic link is replaced."""
    import contextlib
    import tempfile

    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "w", encoding="utf-8") as pipe:
            pipe.write(text)
        return
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=os.path.basename(target), suffix=".tmp")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # Else a process of root would take the file from its owner.
        with contextlib.suppress(OSError, AttributeError):
            before = os.stat(target)
            os.chown(temporary, before.st_uid, before.st_gid)
        os.replace(temporary, target)
    except OSError:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        raise


def _newer_of(own: str, store: str) -> str:
    """The stored key if it belongs to the same agent, is newer than `own` and has not expired; else `own`."""
    try:
        kept = read_token(store)
    except OSError:
        return own
    mine, theirs = _part_of(own, 1), _part_of(kept, 1)
    is_same = theirs.get("sub") is not None and theirs.get("sub") == mine.get("sub")
    issued, known = _number(theirs.get("iat")), _number(mine.get("iat"))
    expires = _number(theirs.get("exp"))
    is_later = issued is not None and known is not None and issued > known
    is_alive = expires is not None and expires > utc_now()
    return kept if is_registration_key(kept) and is_same and is_later and is_alive else own


def _part_of(token: str, index: int) -> dict[str, Any]:
    import base64
    import binascii

    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        value = json_of(base64.urlsafe_b64decode(parts[index] + "=" * (-len(parts[index]) % 4)))
    except (binascii.Error, ValueError):
        return {}
    return value if is_record(value) else {}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def expiry_of(value: object) -> str | None:
    from datetime import datetime

    if not isinstance(value, str):
        return None
    try:
        return iso_time(datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp())
    except ValueError:
        return None


MAX_BYTES = 64 * 1024
_MAX_TEXT = 500
_EVIDENCE_SECONDS = 24 * 60 * 60
_MAX_KEYS = 2000
_POINTS = {"critical": 30, "high": 20, "medium": 10, "low": 5}
_MAX_NOT_SHOWN_POINTS = 20
_GRADES = (("A", 90), ("B", 75), ("C", 60), ("D", 45), ("F", 0))


class SeenTimes:
    def __init__(self) -> None:
        self._times: dict[str, float] = {}

    def note(self, keys: Iterable[str]) -> None:
        now = utc_now()
        for key in keys:
            self._times.pop(key, None)
            self._times[key] = now
        for key, seen in list(self._times.items()):
            if len(self._times) <= _MAX_KEYS and now - seen < _EVIDENCE_SECONDS:
                return
            del self._times[key]

    def last_of(self, keys: Iterable[str]) -> float | None:
        now = utc_now()
        times = [self._times[key] for key in keys if now - self._times.get(key, 0) < _EVIDENCE_SECONDS]
        return max(times, default=None)


def compose(manifest: Json, health: Json, seen: SeenTimes, beat: Json) -> Json:
    """A HeartbeatV1 from reports of the same time. Probes and usage come from the agent, so they count as reported."""
    checks = health["checks"]
    seen.note(_key("check", check["id"]) for check in checks if check["status"] == "pass")
    for model in beat["usage"]["models"]:
        seen.note(_model_keys(model["modelId"], model["totalTokens"]))
    declared = manifest["spec"]["model"]
    return {
        "version": 1,
        "proofRevision": 0,
        "proof": [],
        **beat,
        "sentAt": iso_time(utc_now()),
        "source": "agent-sdk",
        "health": health,
        "gap": gap_of(manifest, checks),
        "evidence": evidence_of(manifest, seen),
        "model": {"provider": declared["provider"], "id": declared["id"]},
    }


def gap_of(manifest: Json, checks: list[Json]) -> Json:
    found = [*_manifest_issues(manifest["spec"]), *_model_issues(manifest["spec"]["model"], checks)]
    for category, severity in _CHECKED:
        found += _check_issues([check for check in checks if check["category"] == category], severity)
    # Of several issues of a property, the most severe one.
    issues: dict[str, Json] = {}
    for issue in sorted(found, key=_rank):
        issues.setdefault(issue["property"], issue)
    not_shown = [_POINTS[issue["severity"]] for issue in issues.values() if issue.pop("isNotShown")]
    points = sum(_POINTS[issue["severity"]] for issue in issues.values()) - sum(not_shown)
    score = max(0, 100 - points - min(sum(not_shown), _MAX_NOT_SHOWN_POINTS))
    return {
        "score": score,
        "grade": next(grade for grade, minimum in _GRADES if score >= minimum),
        "source": "agent-sdk",
        "issues": [*issues.values()],
    }


def _rank(issue: Json) -> int:
    return [*_POINTS].index(issue["severity"])


def _issue(severity: str, name: str, description: str, recommendation: str, is_not_shown: bool = False) -> Json:
    texts = {"property": name, "description": description, "recommendation": recommendation}
    cut_texts = {key: cut(text, _MAX_TEXT) for key, text in texts.items()}
    return {"severity": severity, **cut_texts, "isNotShown": is_not_shown}


def _manifest_issues(spec: Json) -> list[Json]:
    issues: list[Json] = []
    if not items_at(spec, "guardrails", "input") and not items_at(spec, "guardrails", "output"):
        problem = "The manifest declares no guardrails, so the use of guardrails cannot be audited."
        remedy = "Declare the guardrails of the agent in spec.guardrails.input and spec.guardrails.output."
        issues.append(_issue("medium", "auditable", problem, remedy))
    if items_at(spec, "evaluation", "datasets"):
        problem = "Evaluation datasets are declared, but there is no valid proof that they were run (EVAL-01)."
        remedy = (
            "Run a dataset against the agent and submit the result as a proof of EVAL-01 (POST /proof/rule/EVAL-01)."
        )
        issues.append(_issue("low", "evaluated", problem, remedy))
    return issues


def _model_issues(model: Json, checks: list[Json]) -> list[Json]:
    check = next(check for check in checks if check["id"] == model_id_of(model))
    if check["status"] == "pass":
        return []
    is_failed = check["status"] == "fail"
    what = "cannot be used with the agent's API key" if is_failed else "was not checked by the agent"
    problem = f"The model {model['provider']}/{model['id']} {what}: {check['message']}"
    key = model["apiKey"] if model["apiKey"].startswith("$") else "spec.model.apiKey"
    remedy = check.get("remediation") or f"Set the API key that {key} refers to."
    return [_issue("critical" if is_failed else "high", "model.apiKey", problem, remedy)]


# Severity of the failed checks of a category; None: no issue. A skipped check is always a low one.
_CHECKED = (("env", "high"), ("service", "high"), ("tool", "medium"), ("memory", None), ("mcp", None))


def _check_issues(checks: list[Json], severity: str | None) -> list[Json]:
    issues: list[Json] = []
    for check in checks:
        check_id = check["id"]
        if check["status"] == "fail" and severity is not None:
            problem = f"The agent's check {check_id} failed: {check['message']}"
            issues.append(_issue(severity, check_id, problem, check["remediation"]))
        elif check["status"] == "skip":
            problem = f"{check_id} is declared, not shown: the agent skipped the check: {check['message']}"
            remedy = f"Enable the agent's reporter to check {check_id}, or remove it from the manifest."
            issues.append(_issue("low", check_id, problem, remedy, True))
    return issues


def evidence_of(manifest: Json, seen: SeenTimes) -> Json:
    """The declared items with their evidence. Without a sidecar the only evidence is the agent's own report."""
    items = [_judged(kind, name, keys, seen) for kind, name, keys in _declared_items(manifest)]
    reported = [item for item in items if item["tier"] == "reported"]
    rest = [item for item in items if item["tier"] == "none"]
    return {
        "shown": len(reported) * 0.5,
        "declared": len(items),
        "reported": len(reported),
        "items": [*reported, *rest],
    }


def _judged(kind: str, name: str, keys: list[str], seen: SeenTimes) -> Json:
    item = {"kind": kind, "name": cut(name, _MAX_TEXT)}
    last = seen.last_of(keys)
    if last is None:
        return {**item, "tier": "none"}
    return {**item, "tier": "reported", "shownBy": _SHOWN_BY[kind], "lastSeen": iso_time(last)}


_CHECK = "check reported by the agent"
_SHOWN_BY = {
    "model": "`model` event with this model id, or check reported by the agent",
    "tool": "call in a behavioral header or event, or check reported by the agent",
    "service": _CHECK,
    "memory": f"{_CHECK}, or `memory` event with this backend",
    "mcp": _CHECK,
    "budget": "tokens in `model` events; `maxMonthlyUSD` also needs both prices",
}


def _declared_items(manifest: Json) -> list[tuple[str, str, list[str]]]:
    """Kind, name and keys of each item; the last of several items with one name counts."""
    spec = manifest["spec"]
    model = spec["model"]
    model_keys = [_key("report", _model_subject(model["id"])), _key("check", model_id_of(model))]
    items = [("model", model["id"], model_keys)]
    items += [("tool", tool["name"], [_key("check", f"tool:{tool['name']}")]) for tool in items_at(spec, "tools")]
    items += [
        ("guardrail", f"{where}.{each.get('type')}", [])
        for where in ("input", "output")
        for each in items_at(spec, "guardrails", where)
    ]
    targets = targets_of(manifest)
    for kind in ("service", "memory", "mcp"):
        found = [target.id for target in targets if target.id.startswith(f"{kind}:")]
        items += [(kind, each.partition(":")[2], [_key("check", each)]) for each in found]
    limits: dict[str, Any] = at(model, "costControls") or {}
    tokens = [_key("report", "tokens")]
    if "maxTokensPerDay" in limits:
        items.append(("budget", "maxTokensPerDay", tokens))
    if "maxMonthlyUSD" in limits:
        items.append(("budget", "maxMonthlyUSD", [] if price_of(manifest) is None else tokens))
    if items_at(spec, "evaluation", "datasets"):
        items.append(("evaluation", "datasets", []))
    return list({(kind, name): (kind, name, keys) for kind, name, keys in items}.values())


def _key(source: str, subject: str) -> str:
    return f"{source} {reported_name(subject)}"


def _model_subject(declared: str) -> str:
    """The subject of a declared model id. A dated id matches only the same date."""
    return f"model:{_plain_model(declared).removesuffix('-latest')}"


def _model_keys(model_id: str, tokens: int) -> list[str]:
    import re

    plain = _plain_model(model_id)
    undated = re.sub(r"-(\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{8}|\d{6}|\d{3,4}|latest)$", "", plain)
    is_one = model_id not in ("unknown", "(several)", "(other)")
    subjects = [f"model:{plain}", f"model:{undated}"] if is_one else []
    return [_key("report", subject) for subject in [*subjects, *(["tokens"] if tokens > 0 else [])]]


def _plain_model(model_id: str) -> str:
    return model_id.rpartition("/")[2].lower()


_SHORTENED = frozenset({"description", "recommendation", "message", "remediation", "modelId"})
_SHORT = 120


def fit(heartbeat: Json) -> tuple[bytes, bool]:
    """JSON of at most 64 KiB, and whether it was shortened: texts first, then the less important half of a list."""
    body = json_bytes(heartbeat)
    if len(body) <= MAX_BYTES:
        return body, False
    fitted = _with_short_texts(heartbeat)
    body = json_bytes(fitted)
    while len(body) > MAX_BYTES:
        rows = [row for row in _LISTS if len(fitted[row[0]][row[1]]) > row[2]]
        if not rows:
            break
        part, name, _, halved = max(rows, key=lambda row: len(json_bytes(fitted[row[0]][row[1]])))
        fitted[part][name] = halved(fitted[part][name])
        body = json_bytes(fitted)
    return body, True


def _with_short_texts(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        members: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return {key: _with_short_texts(item, key) for key, item in members.items()}
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [_with_short_texts(item) for item in items]
    is_long = isinstance(value, str) and name in _SHORTENED and len(value) > _SHORT
    return value[: _SHORT - 1] + "…" if is_long else value


def _worst_half(items: list[Json], rank: Callable[[Json], int]) -> list[Json]:
    order = sorted(range(len(items)), key=lambda index: (rank(items[index]), index))
    kept = set(order[: len(items) // 2])
    return [item for index, item in enumerate(items) if index in kept]


def _folded(items: list[Json]) -> list[Json]:
    """Folds the models with the fewest tokens into one row, so that the sums stay correct."""
    named = sorted((each for each in items if each["modelId"] != "(other)"), key=lambda each: -each["totalTokens"])
    kept = named[: len(named) // 2]
    folded = [each for each in items if each not in kept]
    counts = ("promptTokens", "completionTokens", "totalTokens", "callCount")
    return [*kept, {"modelId": "(other)", **{name: sum(each[name] for each in folded) for name in counts}}]


_STATUSES = ("fail", "skip", "pass")
# Lists that are shortened: part of the heartbeat, name, length that stays, and how they lose their less important half.
_LISTS: tuple[tuple[str, str, int, Callable[[list[Json]], list[Json]]], ...] = (
    ("evidence", "items", 0, lambda items: _worst_half(items, lambda item: ("none", "reported").index(item["tier"]))),
    ("gap", "issues", 0, lambda items: _worst_half(items, _rank)),
    ("health", "checks", 0, lambda items: _worst_half(items, lambda item: _STATUSES.index(item["status"]))),
    ("usage", "models", 2, _folded),
)
