"""SQL: the analyst's question as a tree, pieces of statements, and engines that run them."""
