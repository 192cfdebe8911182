"""YAML as people mean it: a key given twice is an error, and ``on``/``off`` are words.

YAML 1.1 reads ``on``, ``off``, ``yes`` and ``no`` as booleans and PyYAML keeps the last of two
equal keys without a word; both would change a measurement silently.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

_BOOLEAN_TAG = "tag:yaml.org,2002:bool"


class YamlError(ValueError):
    """One line: file, place and cause."""


class _Loader(yaml.SafeLoader):
    """Safe loader whose only booleans are ``true`` and ``false``; see the module's docstring."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _BOOLEAN_TAG]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOLEAN_TAG, re.compile(r"^(?:true|false)$"), list("tf"))


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise yaml.MarkedYAMLError(
                problem="a key must be plain text", problem_mark=key_node.start_mark
            )
        if key_node.value in seen:
            raise yaml.MarkedYAMLError(
                problem=f"key '{key_node.value}' is given twice", problem_mark=key_node.start_mark
            )
        seen.add(key_node.value)
    loader.flatten_mapping(node)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def load(path: Path) -> dict[str, Any]:
    """Read a file that holds one mapping.

    Raises:
        YamlError: unreadable, not UTF-8, not YAML, a repeated key, or not a mapping.
    """
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506
    except OSError as error:
        raise YamlError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise YamlError(f"{path}: not UTF-8 text") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" line {mark.line + 1}" if mark else ""
        raise YamlError(f"{path}:{place} {error.problem or 'not YAML'}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(f"{path}: not YAML ({' '.join(str(error).split())})") from None
    if not isinstance(document, dict):
        raise YamlError(f"{path}: must hold one mapping of keys to values")
    return document
