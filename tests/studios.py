"""A studio that runs inside the test, and clients that were let in."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.testclient import TestClient

from discreet.studio.site import build_site
from discreet.studio.visits import Visit, Visits
from discreet.studio.workers import Desk

HOST = "127.0.0.1:8000"
PEOPLE = """pid,age,sex,town,illness
1,34,f,Ulm,flu
2,34,m,Ulm,flu
3,35,f,Bonn,asthma
4,36,m,Bonn,flu
5,36,f,Ulm,asthma
6,37,m,Köln,flu
7,41,f,Köln,gout
8,42,m,Köln,gout
"""


class Studio:
    """A site with one client who was let in, and others who were not."""

    def __init__(self, root: Path, desk: Desk, upload: int = 50_000) -> None:
        self.root = root
        self.visits = Visits(root.resolve(), desk)
        self.site = build_site(self.visits, frozenset({HOST}), upload=upload)
        self.client = self.let_in()

    def stranger(self) -> TestClient:
        return TestClient(self.site, base_url=f"http://{HOST}")

    def let_in(self) -> TestClient:
        client = self.stranger()
        assert client.get(f"/?token={self.visits.token}").status_code == 200
        return client

    def visit(self, client: TestClient | None = None) -> Visit:
        key = (client or self.client).cookies["discreet-8000"]
        found = self.visits.find(key)
        assert found is not None
        return found

    def proof(self, client: TestClient | None = None) -> dict[str, str]:
        return {"X-Discreet-Proof": self.visit(client).proof, "HX-Request": "true"}

    def post(self, path: str, **values: object):  # type: ignore[no-untyped-def]
        return self.client.post(path, data=values, headers=self.proof())

    def seen(self, page: str) -> str:
        """The name of the plan that a page shows."""
        found = re.search(r'id="seen" name="seen" value="([^"]*)"', page)
        assert found is not None
        return found[1]
