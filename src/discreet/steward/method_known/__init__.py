"""Attacks by somebody who knows the method: releases are made anew, so they are the steward's."""

from __future__ import annotations

from discreet.auditing.method_known import MethodKnown
from discreet.publishing.method import Method
from discreet.release import Release
from discreet.steward.method_known.minimality import measure_minimality
from discreet.steward.method_known.shadows import attack_membership
from discreet.table.microdata import Microdata


def attack_method(release: Release, data: Microdata, method: Method) -> MethodKnown:
    """Try both attacks on a release of this table by a method that is known."""
    return MethodKnown(attack_membership(data, method), measure_minimality(release, data, method))
