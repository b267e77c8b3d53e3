"""Methods: ways of making a release.

To add one: a file here, or a package of your own that names it under the entry points
``discreet.publishing.methods``.
"""

from __future__ import annotations

from discreet.publishing.method import Method
from discreet.release.registry import find_kinds

METHODS = find_kinds(__name__, Method)  # type: ignore[type-abstract]
REGISTRY: dict[str, type[Method]] = {method.title: method for method in METHODS}
"""Every method by its title."""
