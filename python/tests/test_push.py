import base64
import json
import os
import shutil
import ssl
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_compliance import PushOptions, Reporter, SettingsError, _push
from conftest import SLOW, HttpServer, manifest, wait_for


def key_of(issued: float, expires: float, alg: str = "HS256", sub: str = "shop") -> str:
    """An unsigned JWT; only the server verifies it."""
    parts = ({"alg": alg}, {"sub": sub, "iat": issued, "exp": expires})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, "signature"])


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_push, "_FIRST_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(_push, "_TRIGGER_GAP_SECONDS", 0.01)
    monkeypatch.setattr(_push, "_TIMEOUT_SECONDS", SLOW)
    monkeypatch.setattr(_push, "_LAST_BEAT_SECONDS", SLOW)


def beats(server: HttpServer) -> list[Any]:
    return [request["json"] for request in server.requests if request["path"].endswith("/heartbeat")]


def test_heartbeats_contain_the_reports_and_the_usage(
    http_server: HttpServer, reporters: Callable[..., Reporter]
) -> None:
    http_server.answer = lambda _request: (204, {}, b"")
    options = PushOptions(http_server.url + "/cp/", key="the-key", instance="pod-1", interval_seconds=60)
    reporter = reporters(manifest(tools=[{"name": "search"}]), tools=["search"], push=options)
    reporter.record_usage("gpt-4o-2024-08-06", 3, 4)
    assert reporter.events.counts()["queued"] == 0
    reporter.start()
    wait_for(lambda: reporter.get_usage()["totalCalls"] == 0, "the first heartbeat")
    reporter.record_usage("gpt-4o", 1, 1)
    reporter.stop()
    first, last = beats(http_server)
    request = http_server.requests[0]
    assert (request["method"], request["path"]) == ("POST", "/cp/api/v1/heartbeat")
    assert request["headers"]["authorization"] == "Bearer the-key"
    assert {name: first[name] for name in ("version", "instance", "seq", "intervalSeconds", "source", "model")} == {
        "version": 1,
        "instance": "pod-1",
        "seq": 1,
        "intervalSeconds": 60,
        "source": "agent-sdk",
        "model": {"provider": "no-such-vendor", "id": "gpt-4o"},
    }
    assert first["health"]["agentName"] == "shop"
    assert first["usage"]["totalTokens"] == 7
    assert first["totals"] == {"tokensToday": 7}
    assert [(item["kind"], item["tier"]) for item in first["evidence"]["items"]] == [
        ("model", "reported"),
        ("tool", "reported"),
    ]
    assert (last["seq"], last["usage"]["totalTokens"], last["startedAt"]) == (2, 2, first["startedAt"])


def test_a_failed_heartbeat_is_repeated_with_the_same_window(
    http_server: HttpServer, reporters: Callable[..., Reporter], caplog: pytest.LogCaptureFixture
) -> None:
    statuses = iter([500, 401, 429, 503, 200])
    detail = json.dumps({"detail": "no key the-key"}).encode()
    http_server.answer = lambda _request: (next(statuses, 200), {"retry-after": "0"}, detail)
    reporter = reporters(push=PushOptions(http_server.url, key="the-key"))
    reporter.record_usage("m", 1, 0)
    caplog.set_level("DEBUG", "agent_compliance")
    reporter.start()
    wait_for(lambda: len(beats(http_server)) == 5 and reporter.get_usage()["totalCalls"] == 0, "five heartbeats")
    assert {beat["seq"] for beat in beats(http_server)} == {1}
    assert len({json.dumps(beat["usage"]) for beat in beats(http_server)}) == 1
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert "the-key" not in caplog.text
    assert "no key [secret]" in caplog.text
    wait_for(lambda: "delivered again" in caplog.text, "the recovery")


def test_without_a_control_plane_the_agent_goes_on(
    closed_port: int, reporters: Callable[..., Reporter], caplog: pytest.LogCaptureFixture
) -> None:
    reporter = reporters(push=PushOptions(f"http://127.0.0.1:{closed_port}", key="k"))
    reporter.start()
    wait_for(lambda: "heartbeat not delivered" in caplog.text, "the warning")
    reporter.stop()
    assert "Connection refused" in caplog.text


def test_a_changed_status_sends_a_heartbeat_early(http_server: HttpServer, reporters: Callable[..., Reporter]) -> None:
    env: dict[str, str] = {"A": "1"}
    reporter = reporters(
        manifest(requires={"envVars": ["A"]}),
        push=PushOptions(http_server.url, key="k", interval_seconds=3600),
        env=env,
        refresh_seconds=0.05,
    )
    reporter.start()
    wait_for(lambda: beats(http_server), "the first heartbeat")
    env["A"] = ""
    wait_for(lambda: beats(http_server)[-1]["health"]["status"] == "unhealthy", "the second heartbeat")


def test_the_control_plane_sets_the_interval(http_server: HttpServer, reporters: Callable[..., Reporter]) -> None:
    answers = iter([b'{"intervalSeconds":77}', b'{"intervalSeconds":5}'])
    http_server.answer = lambda _request: (200, {}, next(answers, b"[]"))
    reporter = reporters(push=PushOptions(http_server.url, key="k"))
    reporter.start()
    wait_for(lambda: reporter._pusher is not None and reporter._pusher._seq == 2, "the first heartbeat")
    reporter.stop()
    assert beats(http_server)[-1]["intervalSeconds"] == 77


def test_a_key_is_renewed_after_two_thirds_of_its_life(
    http_server: HttpServer, reporters: Callable[..., Reporter], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = time.time()
    old, new = key_of(now - 8000, now + 2000), key_of(now, now + 10_000)
    store = tmp_path / "key"
    answers: Iterator[tuple[int, dict[str, str], bytes]] = iter(
        [
            (500, {}, b""),
            (200, {}, b"{}"),
            (200, {}, json.dumps({"apiKey": new, "expiresAt": "2030-01-01T00:00:00.000Z"}).encode()),
        ]
    )

    def answer(request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if request["path"].endswith("/token"):
            return next(answers)
        return (
            (429, {"retry-after": "0"}, b"")
            if request["headers"]["authorization"] != f"Bearer {new}"
            else (200, {}, b"{}")
        )

    http_server.answer = answer
    options = PushOptions(http_server.url, key=old, key_store_path=str(store))
    reporter = reporters(push=options)
    reporter.start()
    wait_for(lambda: reporter._pusher is not None and reporter._pusher._seq == 2, "a heartbeat with the new key")
    reporter.stop()
    assert store.read_text() == f"{new}\n"
    assert stat.S_IMODE(os.stat(store).st_mode) == 0o600
    assert len([record for record in caplog.records if "renewal failed" in record.getMessage()]) == 1
    again = reporters(push=options)
    again.start()
    wait_for(lambda: again._pusher is not None and again._pusher._seq == 2, "a heartbeat with the stored key")
    again.stop()
    assert http_server.requests[-1]["headers"]["authorization"] == f"Bearer {new}"


def settings_of(**options: Any) -> Any:
    from agent_compliance._settings import push_settings

    found = push_settings(PushOptions("http://x", **options), {})
    assert found is not None
    return found[0]


def test_a_token_file_is_read_for_every_push(tmp_path: Path) -> None:
    path = tmp_path / "token"
    bearer = _push.Bearer(settings_of(token_file=str(path)), lambda _key: "no renewal")
    bearer.renew_if_due()
    with pytest.raises(OSError, match="cannot be read"):
        bearer.current()
    for text, problem in (("\n", "is empty"), ("x" * 20_000, "does not contain a token"), ("a b", "does not contain")):
        path.write_text(text)
        with pytest.raises(OSError, match=problem):
            bearer.current()
    path.write_text("one\n")
    assert bearer.current() == "one"
    path.write_text("two\n")
    assert bearer.current() == "two"


def test_a_registration_key_in_a_file_is_renewed_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    now = time.time()
    old, new = key_of(now - 8000, now + 2000), key_of(now, now + 10_000)
    target = tmp_path / "target"
    target.write_text(old)
    path = tmp_path / "token"
    path.symlink_to(target)
    calls: list[str] = []

    def renew(key: str) -> tuple[str, str]:
        calls.append(key)
        return new, "later"

    bearer = _push.Bearer(settings_of(token_file=str(path)), renew)
    bearer.renew_if_due()
    bearer.renew_if_due()
    assert (calls, bearer.current(), target.read_text()) == ([old], new, f"{new}\n")
    target.write_text(key_of(now - 8000, now + 2000, alg="RS256"))
    bearer.renew_if_due()
    assert len(calls) == 1
    # A directory that cannot be written: the new key stays in memory.
    lost = _push.Bearer(settings_of(key=old, key_store_path="/no/such/directory/key"), renew)
    lost.renew_if_due()
    assert lost.current() == new
    assert "failed to write renewed key" in caplog.text


@pytest.mark.parametrize(
    ("kept", "is_used"),
    [
        (lambda now: key_of(now, now + 10_000), True),
        (lambda now: key_of(now, now + 10_000, sub="other"), False),
        (lambda now: key_of(now - 200, now + 10_000), False),
        (lambda now: key_of(now, now - 1), False),
        (lambda now: key_of(now, now + 10_000, alg="RS256"), False),
        (lambda _now: "a.b.c", False),
        (lambda _now: "a.%%%.c", False),
        (lambda _now: "text", False),
    ],
)
def test_the_stored_key_is_used_if_it_is_newer(tmp_path: Path, kept: Callable[[float], str], is_used: bool) -> None:
    now = time.time()
    own, store = key_of(now - 100, now + 10_000), tmp_path / "key"
    store.write_text(kept(now))
    bearer = _push.Bearer(settings_of(key=own, key_store_path=str(store)), lambda _key: "no renewal")
    assert bearer.current() == (store.read_text() if is_used else own)


def test_a_pipe_is_written_in_place(tmp_path: Path) -> None:
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    _push.replace_file(str(pipe), "x")
    reader.join()
    assert read == ["x"]
    with pytest.raises(OSError, match="directory"):
        _push.replace_file(str(tmp_path / "none" / "x"), "x")


def test_a_failed_replacement_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: Any) -> None:
        raise OSError("full")

    monkeypatch.setattr("agent_compliance._push.os.replace", fail)
    with pytest.raises(OSError, match="full"):
        _push.replace_file(str(tmp_path / "x"), "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a file away")
def test_a_replaced_file_keeps_its_owner(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("old")
    os.chown(key, 1234, 2345)
    _push.replace_file(str(key), "new")
    found = key.stat()
    assert (key.read_text(), found.st_uid, found.st_gid, found.st_mode & 0o777) == ("new", 1234, 2345, 0o600)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"url": "x", "key": "k"}, "push.url must be a URL"),
        ({"url": "http://x"}, "exactly one of push.key and push.token_file is required"),
        ({"url": "http://x", "key": "k", "token_file": "f"}, "exactly one of"),
        (
            {"url": "http://x", "token_file": "f", "key_store_path": "p"},
            "push.key_store_path must be used with push.key",
        ),
        ({"url": "http://x", "key": "k\n"}, "push.key must consist of visible ASCII characters"),
        (
            {"url": "http://x", "key": "k", "interval_seconds": 9},
            "push.interval_seconds must be an integer from 10 to 3600",
        ),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem) as error:
        Reporter(manifest(), push=PushOptions(**options), env={})
    assert len(error.value.problems) == 1


def test_push_is_configured_by_variables() -> None:
    env = {"PLATFORM_URL": "http://x/", "PLATFORM_KEY": "k", "HEARTBEAT_SECONDS": "15"}
    found = Reporter(manifest(), env=env)._push_settings
    assert found is not None
    assert (found[0].interval_seconds, found[0].key, found[0].token_file) == (15, "k", None)
    assert Reporter(manifest(), env=env, push=False)._push_settings is None
    assert Reporter(manifest(), env={"PLATFORM_URL": ""})._push_settings is None
    with pytest.raises(SettingsError, match="HEARTBEAT_SECONDS must be"):
        Reporter(manifest(), env={**env, "HEARTBEAT_SECONDS": "often"})
    assert "secret" not in repr(PushOptions("http://x", key="secret"))


def test_the_ca_is_read_for_every_push(
    reporters: Callable[..., Reporter], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reporter = reporters(push=PushOptions("https://127.0.0.1:1", key="k", ca_file=str(tmp_path / "ca.pem")))
    reporter.start()
    wait_for(lambda: "the CA file" in caplog.text, "the warning")
    reporter.stop()


def test_heartbeats_over_tls(
    tmp_path: Path, reporters: Callable[..., Reporter], caplog: pytest.LogCaptureFixture
) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = HttpServer(context)
    try:
        untrusting = reporters(push=PushOptions(server.url, key="k"))
        untrusting.start()
        wait_for(lambda: "certificate verify failed" in caplog.text, "the warning")
        untrusting.stop()
        assert server.requests == []
        trusting = reporters(push=PushOptions(server.url, key="k", ca_file=str(certificate)))
        trusting.start()
        wait_for(lambda: beats(server), "the heartbeat")
        trusting.stop()
    finally:
        server.close()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("x", None),
        ("5", 5.0),
        ("99999", 3600.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 9.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert _push.retry_after(value, 1.0) == seconds


def check(check_id: str, status: str) -> dict[str, Any]:
    more = {} if status == "pass" else {"message": "why", "remediation": "fix"}
    severity = {"env": "error", "model": "error"}.get(check_id.split(":", maxsplit=1)[0], "info")
    return {
        "id": check_id,
        "status": status,
        "severity": severity,
        "category": check_id.split(":", maxsplit=1)[0],
        **more,
    }


@pytest.mark.parametrize(
    ("statuses", "score", "grade", "properties"),
    [
        ({"model:p/m": "pass"}, 100, "A", []),
        ({"model:p/m": "fail"}, 70, "C", ["model.apiKey"]),
        ({"model:p/m": "skip"}, 80, "B", ["model.apiKey"]),
        ({"model:p/m": "pass", "env:A": "fail"}, 80, "B", ["env:A"]),
        ({"model:p/m": "pass", "tool:t": "fail", "service:s": "fail"}, 70, "C", ["service:s", "tool:t"]),
        ({"model:p/m": "pass", "tool:t": "skip", "mcp:m": "skip"}, 90, "A", ["tool:t", "mcp:m"]),
        ({"model:p/m": "pass", "mcp:m": "fail", "memory:backend": "fail"}, 100, "A", []),
        ({"model:p/m": "fail", "env:A": "fail", "service:s": "fail", "tool:t": "fail"}, 20, "F", None),
    ],
)
def test_the_gap_is_that_of_the_sidecar(
    statuses: dict[str, str], score: int, grade: str, properties: list[str] | None
) -> None:
    value = manifest(
        model={"provider": "p", "id": "m", "apiKey": "$env:A"},
        guardrails={"input": [{"type": "custom"}]},
        requires={"services": [{"name": "s"}]},
        tools=[{"name": "t"}],
        mcp={"servers": [{"name": "m"}]},
        memory={"backend": "redis"},
    )
    every = dict.fromkeys(["env:A", "model:p/m", "service:s", "mcp:m", "memory:backend", "tool:t"], "pass")
    checks = [check(*each) for each in {**every, **statuses}.items()]
    gap = _push.gap_of(value, checks)
    assert (gap["score"], gap["grade"]) == (score, grade)
    if properties is not None:
        assert [issue["property"] for issue in gap["issues"]] == properties


def test_not_shown_items_cost_at_most_20_points() -> None:
    value = manifest(tools=[{"name": f"t{index}"} for index in range(10)], evaluation={"datasets": [{"name": "d"}]})
    checks = [check("model:no-such-vendor/gpt-4o", "pass"), *(check(f"tool:t{index}", "skip") for index in range(10))]
    gap = _push.gap_of(value, checks)
    assert [issue["property"] for issue in gap["issues"]][:2] == ["auditable", "evaluated"]
    assert gap["score"] == 100 - 10 - 5 - 20


def test_evidence_is_at_most_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_700_000_000.0
    monkeypatch.setattr(_push, "utc_now", lambda: now)
    value = manifest(
        model={
            "provider": "p",
            "id": "org/GPT-4o-latest",
            "apiKey": "k",
            "costControls": {"maxTokensPerDay": 1, "maxMonthlyUSD": 1},
        },
        guardrails={"input": [{"type": "custom"}], "output": [{"type": "custom"}]},
        evaluation={"datasets": [{"name": "d"}]},
        requires={"services": [{"name": "s"}]},
    )
    seen = _push.SeenTimes()
    seen.note(_push._model_keys("gpt-4o-2024-08-06", 5))
    seen.note(["check service:s"])
    report = _push.evidence_of(value, seen)
    assert (report["shown"], report["declared"], report["reported"]) == (1.5, 7, 3)
    assert [(item["kind"], item["name"], item["tier"]) for item in report["items"]] == [
        ("model", "org/GPT-4o-latest", "reported"),
        ("service", "s", "reported"),
        ("budget", "maxTokensPerDay", "reported"),
        ("guardrail", "input.custom", "none"),
        ("guardrail", "output.custom", "none"),
        ("budget", "maxMonthlyUSD", "none"),
        ("evaluation", "datasets", "none"),
    ]
    now += 24 * 60 * 60
    assert _push.evidence_of(value, seen)["reported"] == 0
    seen.note(f"k{index}" for index in range(3000))
    assert len(seen._times) == 2000
    assert _push._model_keys("(other)", 0) == []


def test_a_large_heartbeat_is_shortened() -> None:
    value = manifest(tools=[{"name": f"{'t' * 200}{index}"} for index in range(400)])
    checks = [check("model:no-such-vendor/gpt-4o", "pass")]
    checks += [{**check(f"tool:{tool['name']}", "fail"), "message": "m" * 400} for tool in value["spec"]["tools"]]
    models = [
        {
            "modelId": f"{'m' * 190}{index}",
            "promptTokens": index,
            "completionTokens": 0,
            "totalTokens": index,
            "callCount": 1,
        }
        for index in range(99)
    ]
    beat = {"usage": {"models": models}}
    health = {"status": "degraded", "checks": checks}
    heartbeat = _push.compose(value, health, _push.SeenTimes(), beat)
    body, is_shortened = _push.fit(heartbeat)
    fitted = json.loads(body)
    assert is_shortened
    assert len(body) <= 64 * 1024
    assert fitted["gap"]["score"] == heartbeat["gap"]["score"]
    assert sum(model["totalTokens"] for model in fitted["usage"]["models"]) == sum(range(99))
    assert len(fitted["health"]["checks"]) < 401
    small, is_shortened = _push.fit({"usage": {"models": []}})
    assert (small, is_shortened) == (b'{"usage":{"models":[]}}', False)


def test_what_cannot_be_shortened_is_sent_as_it_is() -> None:
    empty: dict[str, Any] = {
        "evidence": {"items": []},
        "gap": {"issues": []},
        "health": {"checks": []},
        "usage": {"models": []},
    }
    body, is_shortened = _push.fit({**empty, "instance": "x" * 70_000})
    assert is_shortened
    assert len(body) > 70_000
