"""The studio: the whole journey of a table, in a browser on this machine.

The server shows pages and computes nothing: every figure comes from a worker process, which calls
what the command line calls.
"""
