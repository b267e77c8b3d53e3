"""Worlds: what several releases leave possible about people, some of whom are in few of them.

One set of unknowns: who has which value. One set of constraints per release: every group holds the
values of its people, whoever they are. Who joined later, or left, is in the constraints of some
releases only; so the totals of one less those of another are what they are of these few.

People and groups that have nothing to do with each other are looked at apart. Of small components
all worlds are counted. Where all groups of a component hold the same values, each as often, nothing
need be counted: put the next of these values in the place of each, for everybody and in all
releases at once, and every world becomes another world; so everybody has each value in as many. Of
the rest it is estimated what is believed, and bounded what can be.
"""

from __future__ import annotations

from discreet.auditing.worlds.counting import NoWorldError
from discreet.auditing.worlds.puzzle import Sighting, Told, tell_worlds

__all__ = ["NoWorldError", "Sighting", "Told", "tell_worlds"]
