"""Engines: load tables, run a tree, give back a frame. Nothing else."""
