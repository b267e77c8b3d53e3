"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# where a change is judged, the same change gets the same verdict; elsewhere new cases are drawn
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
