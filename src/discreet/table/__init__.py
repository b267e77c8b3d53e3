"""Table: what comes in. Schema, taxonomies, readers of files, and exact codes of every cell."""
