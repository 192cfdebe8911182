"""Typed access to a mapping read from YAML, every key of which must be used."""

from __future__ import annotations

from typing import Any


class PresetError(ValueError):
    """One line: study, preset, key and cause."""


class Reader:
    """Takes keys one by one; :meth:`end` fails for what nobody took."""

    def __init__(self, values: object, where: str) -> None:
        if not isinstance(values, dict):
            raise PresetError(f"{where}: must be a mapping")
        self._values: dict[str, Any] = dict(values)
        self._where = where

    def fail(self, key: str, value: object, wanted: str) -> PresetError:
        """The error for a value of the wrong kind."""
        return PresetError(f"{self._where}: {key}: {value!r} must be {wanted}")

    def has(self, key: str) -> bool:
        return key in self._values

    def take(self, key: str, *kinds: type) -> Any:
        if key not in self._values:
            raise PresetError(f"{self._where}: key '{key}' is missing")
        value = self._values.pop(key)
        if type(value) not in kinds:
            wanted = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
            raise self.fail(key, value, wanted)
        return value

    def take_or(self, key: str, default: Any, *kinds: type) -> Any:
        """The default where the key is left out."""
        return self.take(key, *kinds) if key in self._values else default

    def section(self, key: str) -> Reader:
        return Reader(self.take(key, dict), f"{self._where}: {key}")

    def optional(self, key: str) -> Reader | None:
        value = self.take(key, dict, type(None))
        return None if value is None else Reader(value, f"{self._where}: {key}")

    def sections(self, key: str) -> list[Reader]:
        items = self.take(key, list)
        return [Reader(item, f"{self._where}: {key} {n}") for n, item in enumerate(items, 1)]

    def one_of(self, key: str, *words: str) -> str:
        value = self.take(key, str)
        if value not in words:
            raise self.fail(key, value, " or ".join(words))
        return str(value)

    def some_of(
        self, key: str, words: tuple[str, ...], default: tuple[str, ...]
    ) -> tuple[str, ...]:
        """A list of some of the words, each once."""
        values = tuple(self.take_or(key, list(default), list))
        for value in values:
            if value not in words or values.count(value) > 1:
                raise self.fail(key, value, f"one of {', '.join(words)}, each once")
        if not values:
            raise self.fail(key, [], f"some of {', '.join(words)}")
        return values

    def texts_or_none(self, key: str) -> tuple[str, ...] | None:
        """A list of texts; None where the key is left out."""
        values = self.take_or(key, None, list)
        if values is None:
            return None
        for value in values:
            if not isinstance(value, str):
                raise self.fail(key, value, "a list of texts")
        return tuple(values)

    def end(self) -> None:
        for key in self._values:
            raise PresetError(f"{self._where}: unknown key '{key}'")
