"""Mutations: valid files and questions of which something is changed, as chance or malice would."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

ODD_TEXTS = (
    "", " ", "*", "NA", "NaN", "inf", "-inf", "null", "None", "-0", "00", "01", "1e999999999",
    "1e-999999999", "-1e400", "9" * 19, "9" * 5000, "0." + "0" * 400 + "1", "1_000", "1,5", "1.5.5",
    "0x1F", "٣", "１２", "½", "²", "9999-12-31", "0000-00-00", "2021-02-30", "-1000-01-01",
    "99999-01-01", "12:00", "true", "=1+1", "\x00", "\x1b[31m", "\u202e", "\ufeff", "\u2028", "é",
    "e\u0301", "\U0001f600", "𝔸", "ß", "İ", "x" * 10_000, "#row", "#user", "%", "'", '"', "\\",
    "a\nb", "a\rb", "../x", "/dev/zero", "[0, 5]", "{a, b}", "(missing)", "<b>", "a;b", "a,b",
)  # fmt: skip
"""What people and programs write where nobody expects it."""
ODD_VALUES = (
    "0", "-1", "1", "2", "1e999", "-1e999", "nan", "inf", "9999999999999999999999", "9" * 5000,
    "0x7fffffffffffffffffff", "true", '""', '"*"', '"a\\u0000b"', '"1/0"', '"1/3"', '"-1/2"',
    '"1e999999999"', '"1e-999999999"', '"../.."', '"/dev/zero"', '"\\u202e"', "[]", "[[]]", "{}",
    "[1, 2]", '["a", "b"]', "[1, 'a', [2]]", "{ a = 1 }", "{ try = [1, 2] }", '"2..8"', '"8..2"',
    '"0..99999"', "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "'''\n'''", "0.1", "1e-320",
    "[" * 50 + "]" * 50, "[" * 5000 + "]" * 5000,
)  # fmt: skip
"""What may stand behind = in TOML, and where other things are expected."""
WORD = re.compile(r"\s+|[A-Za-z_]\w*|\d+(?:\.\d+)?|'[^']*'|\"[^\"]*\"|.", re.DOTALL)


def mutate_bytes(content: bytes) -> st.SearchStrategy[bytes]:
    """Change bytes of a file: some flipped, cut off, left out, repeated, or put in."""
    place = st.integers(0, max(0, len(content) - 1))
    part = st.tuples(place, st.integers(1, 40))
    changes: list[st.SearchStrategy[Callable[[bytes], bytes]]] = [
        st.builds(_flip, place, st.integers(1, 255)),
        st.builds(_cut, place),
        st.builds(_leave_out, part),
        st.builds(_repeat, part, st.sampled_from([1, 3, 200])),
        st.builds(_put_in, place, st.binary(min_size=1, max_size=8)),
        st.builds(
            _put_in, place, st.sampled_from([t.encode() for t in ODD_TEXTS if len(t) < 1000])
        ),
    ]
    return _apply(content, st.one_of(changes))


def mutate_lines(text: str) -> st.SearchStrategy[str]:
    """Change lines of a text: cells or values of some are odd, lines are repeated or left out."""
    line = st.integers(0, text.count("\n"))
    changes: list[st.SearchStrategy[Callable[[str], str]]] = [
        st.builds(_change_cell, line, st.integers(0, 8), st.sampled_from(ODD_TEXTS)),
        st.builds(_change_column, st.integers(0, 8), st.sampled_from(ODD_TEXTS)),
        st.builds(_change_line, line, st.sampled_from(["drop", "twice", "often", "first", "join"])),
    ]
    return _apply(text, st.one_of(changes))


def mutate_toml(text: str) -> st.SearchStrategy[str]:
    """Change settings of a plan: values of other types, lines repeated, left out or elsewhere."""
    line = st.integers(0, text.count("\n"))
    changes: list[st.SearchStrategy[Callable[[str], str]]] = [
        st.builds(_change_value, line, st.sampled_from(ODD_VALUES)),
        st.builds(_change_value, line, st.sampled_from(ODD_VALUES)),
        st.builds(_change_key, line, st.sampled_from(ODD_TEXTS[:40])),
        st.builds(_change_line, line, st.sampled_from(["drop", "twice", "first", "join"])),
    ]
    return _apply(text, st.one_of(changes))


def mutate_words(text: str, known: Sequence[str]) -> st.SearchStrategy[str]:
    """Change words of a statement: some left out, repeated, exchanged, or others of some."""
    words = WORD.findall(text)
    place = st.integers(0, len(words) - 1)
    changes: list[st.SearchStrategy[Callable[[list[str]], list[str]]]] = [
        st.builds(_set_word, place, st.sampled_from(known)),
        st.builds(_set_word, place, st.sampled_from([f"'{t}'" for t in ODD_TEXTS[:60]])),
        st.builds(_insert_word, place, st.sampled_from(known)),
        st.builds(_exchange, place, place),
        st.builds(_leave_out_words, place, st.integers(1, 6)),
        st.builds(_repeat_words, place, st.integers(1, 12), st.sampled_from([1, 5, 300])),
    ]
    return _apply(words, st.one_of(changes)).map("".join)


def _apply(start: object, change: st.SearchStrategy[Callable[..., object]]) -> st.SearchStrategy:
    def carry_out(changes: list[Callable[..., object]]) -> object:
        changed = start
        for one in changes:
            changed = one(changed)
        return changed

    return st.lists(change, min_size=1, max_size=4).map(carry_out)


def _flip(place: int, bits: int) -> Callable[[bytes], bytes]:
    return lambda b: b[:place] + bytes(x ^ bits for x in b[place : place + 1]) + b[place + 1 :]


def _cut(place: int) -> Callable[[bytes], bytes]:
    return lambda b: b[:place]


def _leave_out(part: tuple[int, int]) -> Callable[[bytes], bytes]:
    return lambda b: b[: part[0]] + b[sum(part) :]


def _repeat(part: tuple[int, int], often: int) -> Callable[[bytes], bytes]:
    return lambda b: b[: sum(part)] + b[part[0] : sum(part)] * often + b[sum(part) :]


def _put_in(place: int, more: bytes) -> Callable[[bytes], bytes]:
    return lambda b: b[:place] + more + b[place:]


def _change_cell(line: int, place: int, text: str) -> Callable[[str], str]:
    def change(whole: str) -> str:
        lines = whole.split("\n")
        cells = lines[line % len(lines)].split(",")
        cells[place % len(cells)] = text
        lines[line % len(lines)] = ",".join(cells)
        return "\n".join(lines)

    return change


def _change_column(place: int, text: str) -> Callable[[str], str]:
    def change(whole: str) -> str:
        head, *lines = (line.split(",") for line in whole.split("\n"))
        for cells in lines:
            if len(cells) == len(head):
                cells[place % len(cells)] = text
        return "\n".join(map(",".join, [head, *lines]))

    return change


def _change_line(line: int, how: str) -> Callable[[str], str]:
    def change(whole: str) -> str:
        lines = whole.split("\n")
        at = line % len(lines)
        if how == "join":
            return "\n".join(lines[: at + 1]) + "\n".join(lines[at + 1 :])
        if how == "first":
            return "\n".join([lines[at], *lines[:at], *lines[at + 1 :]])
        many = {"drop": 0, "twice": 2, "often": 2000}[how]
        return "\n".join([*lines[:at], *([lines[at]] * many), *lines[at + 1 :]])

    return change


def _change_value(line: int, value: str) -> Callable[[str], str]:
    def change(whole: str) -> str:
        lines = whole.split("\n")
        settable = [i for i, text in enumerate(lines) if "=" in text and not text.startswith("#")]
        if settable:
            at = settable[line % len(settable)]
            lines[at] = f"{lines[at].partition('=')[0]}= {value}"
        return "\n".join(lines)

    return change


def _change_key(line: int, key: str) -> Callable[[str], str]:
    def change(whole: str) -> str:
        lines = whole.split("\n")
        settable = [i for i, text in enumerate(lines) if "=" in text and not text.startswith("#")]
        if settable:
            at = settable[line % len(settable)]
            quoted = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
            lines[at] = f"{quoted} ={lines[at].partition('=')[2]}"
        return "\n".join(lines)

    return change


def _set_word(place: int, word: str) -> Callable[[list[str]], list[str]]:
    return lambda words: [*words[:place], word, *words[place + 1 :]]


def _insert_word(place: int, word: str) -> Callable[[list[str]], list[str]]:
    return lambda words: [*words[:place], f" {word} ", *words[place:]]


def _exchange(one: int, other: int) -> Callable[[list[str]], list[str]]:
    def change(words: list[str]) -> list[str]:
        found = list(words)
        if max(one, other) < len(found):
            found[one], found[other] = found[other], found[one]
        return found

    return change


def _leave_out_words(place: int, many: int) -> Callable[[list[str]], list[str]]:
    return lambda words: [*words[:place], *words[place + many :]] or [" "]


def _repeat_words(place: int, many: int, often: int) -> Callable[[list[str]], list[str]]:
    return lambda words: [
        *words[: place + many], *words[place : place + many] * often, *words[place + many :]
    ]  # fmt: skip
