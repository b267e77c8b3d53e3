"""Missing texts: what people write in a cell of which they know nothing."""

from __future__ import annotations

import polars as pl

NA_TEXTS = ("?", "N/A", "n/a", "NULL", "null", "NaN", "nan", "<NA>", "None")
"""Texts that mean missing in categories, too, where NA may be Namibia."""
NA_IN_NUMBERS = ("?", "N/A", "n/a", "NULL", "null", "NaN", "nan", "<NA>", "None", "NA", "na", "-",
                 "--", ".", "..", "x", ":")  # fmt: skip
"""Texts that can only mean missing among numbers."""
NA_WORDS = frozenset(
    written
    for word in (
        "n/a", "na", "n.a.", "n. a.", "#n/a", "null", "none", "nil", "missing", "unknown", "unk",
        "not known", "not available", "not stated", "unbekannt", "keine angabe", "k.a.", "k. a.",
        "inconnu", "inconnue", "non renseigné", "desconocido", "sin dato", "no disponible",
        "desconhecido", "ignorado", "sconosciuto", "onbekend",
    )
    for written in (word, word.upper(), word.capitalize(), word.title(), word.replace("a.", "A."))
    if written not in NA_IN_NUMBERS
) | {"keine Angabe", "---", "??", "???", "...", "…", "–", "—"}  # fmt: skip
"""Texts that mean missing among numbers and dates, but may be answers to other questions."""
ALL_NA = pl.Series([*NA_IN_NUMBERS, *NA_WORDS]).implode()
"""All of them."""
