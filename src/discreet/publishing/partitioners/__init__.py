"""Partitioners: ways of putting people into groups."""
