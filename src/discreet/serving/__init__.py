"""A release as a server that clients of PostgreSQL can ask."""
