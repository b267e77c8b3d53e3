"""Readers of text: what is honest is read, and what is changed is read or refused, by an error."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile.damaging import count_examples
from hostile.mutating import mutate_bytes
from hostile.targets import NAMES, Target, make_targets


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    made = make_targets(tmp_path_factory.mktemp("targets"))
    assert list(made) == NAMES
    return made


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=count_examples(15), deadline=None)
@given(data=st.data())
def test_what_was_changed_is_read_or_refused(
    targets: dict[str, Target], name: str, data: st.DataObject
) -> None:
    target = targets[name]
    target.read(target.seeds[0])  # what is honest is no error
    seed = data.draw(st.sampled_from(target.seeds))
    target.feed(data.draw(mutate_bytes(seed)))
