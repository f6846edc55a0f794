import io
import logging
import sys

import pytest

from agent_compliance import _shared


@pytest.mark.parametrize(
    ("name", "encoded"),
    [
        ("pii-detector", "pii-detector"),
        ("a b", "a%20b"),
        ("a,b%", "a%2Cb%25"),
        ("öl", "%C3%B6l"),
        ("😀", "%F0%9F%98%80"),
        ("\ud83d\ude00", "%F0%9F%98%80"),
        ("\ud83d", "%EF%BF%BD"),
        ("!#$&'*+-.^_`|~", "!#$&'*+-.^_`|~"),
        ("()<>@", "%28%29%3C%3E%40"),
    ],
)
def test_names_are_encoded_like_in_javascript(name: str, encoded: str) -> None:
    assert _shared.header_form(_shared.reported_name(name)) == encoded


@pytest.mark.parametrize(
    ("text", "units", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc"),
        ("äöü", 2, "äö"),
        ("a😀", 3, "a😀"),
        ("a😀b", 3, "a😀"),
        ("ab😀", 3, "ab"),
        ("😀😀", 3, "😀"),
    ],
)
def test_texts_are_cut_by_utf16_units(text: str, units: int, expected: str) -> None:
    assert _shared.cut(text, units) == expected


def test_lone_surrogates_are_replaced() -> None:
    assert _shared.well_formed("a\udc00b\ud800") == "a\ufffdb\ufffd"
    assert _shared.json_bytes({"a": "\ud800"}) == '{"a":"\ufffd"}'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_json_has_no_infinity(value: float) -> None:
    with pytest.raises(ValueError, match="Out of range"):
        _shared.json_text(value)


def test_times_have_milliseconds() -> None:
    assert _shared.iso_time(1_700_000_000.1239) == "2023-11-14T22:13:20.123Z"
    assert _shared.day_of(1_700_000_000) == "2023-11-14"


def closed_stream() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


class Raising(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise RuntimeError(record.getMessage())


# After an error of its stream, a StreamHandler writes to sys.stderr.
@pytest.mark.parametrize("handler", [logging.StreamHandler(closed_stream()), Raising()])
def test_the_log_does_not_raise(handler: logging.Handler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", closed_stream())
    logger = logging.getLogger("agent_compliance")
    logger.addHandler(handler)
    try:
        with pytest.raises((ValueError, RuntimeError)):
            logger.warning("raises")
        _shared.warn("does not raise", reason="closed")
    finally:
        logger.removeHandler(handler)
