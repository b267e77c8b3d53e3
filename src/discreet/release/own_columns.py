"""Own columns: what tables of a release have besides attributes, and how it is called."""

from __future__ import annotations

from collections.abc import Iterable


def name_own(word: str, attributes: Iterable[str]) -> str:
    """Give the name of a column of our own: the word for it, unless an attribute is called so.

    Then the column gives way. Databases do not tell upper from lower case, so neither is it here.

    >>> name_own("class", ["age", "wage"])
    'class'
    >>> name_own("class", ["Class", "class_", "age"])
    'class__'
    """
    taken = {name.casefold() for name in attributes}
    while word.casefold() in taken:
        word += "_"
    return word
