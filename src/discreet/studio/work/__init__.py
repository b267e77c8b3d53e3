"""What workers do for the steps: a module per step, whose functions pages ask for by name.

They run in workers only, take and give plain values, and call what the command line calls.
"""
