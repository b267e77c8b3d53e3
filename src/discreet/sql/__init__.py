"""SQL over releases: the analyst's question, rewritten so that its answer has bounds."""

from __future__ import annotations

from discreet.sql.answer import Answer, ask, show_sql
from discreet.sql.parse import Aggregate, Query, parse

__all__ = ["Aggregate", "Answer", "Query", "ask", "parse", "show_sql"]
