"""Counts tokens between heartbeats, and for the current UTC day."""

from __future__ import annotations

from ._text import cut, day_of, is_count, is_name, iso_time, utc_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Window = dict[str, Any]

_MAX_MODELS = 99
_MAX_MODEL_ID = 200
_OTHER = "(other)"
_COUNTS = ("promptTokens", "completionTokens", "totalTokens", "callCount")


class UsageLedger:
    """Counts stay here until their heartbeat is accepted, so a lost heartbeat loses no counts.

    Not synchronised: the reporter calls it with its lock.
    """

    def __init__(self, price: tuple[float, float] | None) -> None:
        self._price = price
        self._started = iso_time(utc_now())
        self._models: dict[str, list[int]] = {}
        self._taken: tuple[str, Window, str] | None = None
        self._day = day_of(utc_now())
        self._today = [0, 0]

    @staticmethod
    def problem_of(model_id: object, prompt_tokens: object, completion_tokens: object) -> str | None:
        """Why a call is not counted; None: it is valid."""
        if not is_name(model_id):
            return "model_id must be a non-empty string"
        if not is_count(prompt_tokens):
            return "prompt_tokens must be a whole number from 0 to 1000000000"
        if not is_count(completion_tokens):
            return "completion_tokens must be a whole number from 0 to 1000000000"
        return None

    def record(self, model_id: str, prompt_tokens: int, completion_tokens: int) -> str:
        """Counts a valid call. Returns the model id as it is counted."""
        counted = cut(model_id, _MAX_MODEL_ID)
        name = counted if counted in self._models or len(self._models) < _MAX_MODELS else _OTHER
        sums = self._models.setdefault(name, [0, 0, 0, 0])
        for index, more in enumerate((prompt_tokens, completion_tokens, prompt_tokens + completion_tokens, 1)):
            sums[index] += more
        today = day_of(utc_now())
        if today != self._day:
            self._day, self._today = today, [0, 0]
        self._today[0] += prompt_tokens
        self._today[1] += completion_tokens
        return counted

    def window(self) -> Window:
        """The usage that is not shipped yet."""
        models = [
            {"modelId": model_id, **dict(zip(_COUNTS, sums, strict=True))} for model_id, sums in self._models.items()
        ]
        return {
            "windowStartedAt": self._started,
            "models": models,
            "totalTokens": sum(sums[2] for sums in self._models.values()),
            "totalCalls": sum(sums[3] for sums in self._models.values()),
        }

    def take(self, heartbeat_id: str) -> Window:
        """The window for one heartbeat. The same id returns the same window."""
        # An unconfirmed window of another heartbeat is still part of the counts, so this heartbeat contains it.
        if self._taken is None or self._taken[0] != heartbeat_id:
            self._taken = (heartbeat_id, self.window(), iso_time(utc_now()))
        return self._taken[1]

    def confirm(self, heartbeat_id: str) -> None:
        """Removes the window of an accepted heartbeat."""
        if self._taken is None or self._taken[0] != heartbeat_id:
            return
        _, shipped, taken_at = self._taken
        for model in shipped["models"]:
            sums = self._models[model["modelId"]]
            for index, name in enumerate(_COUNTS):
                sums[index] -= model[name]
            if sums[3] <= 0:
                del self._models[model["modelId"]]
        self._started, self._taken = taken_at, None

    def totals(self) -> dict[str, float]:
        """Totals of the UTC day: `tokensToday`, and `costTodayUsd` if the manifest declares both prices."""
        prompt, completion = self._today if self._day == day_of(utc_now()) else (0, 0)
        totals: dict[str, float] = {"tokensToday": prompt + completion}
        if self._price is not None:
            totals["costTodayUsd"] = (prompt * self._price[0] + completion * self._price[1]) / 1e6
        return totals
