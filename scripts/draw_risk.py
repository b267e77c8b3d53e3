"""Draw docs/risk.svg: what can be told about everyone's occupation, before and after.

Usage: python scripts/draw_risk.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import discreet as dc

TARGET = Path(__file__).parents[1] / "docs" / "risk.svg"
WIDTH, HEIGHT, BARS = 300, 150, 10


def draw() -> str:
    """Publish Adult as it is and under the demo's promise, and draw both histograms."""
    data = dc.datasets.adult(sensitive="occupation")
    panels = []
    for title, promise in (
        ("Names removed", dc.KAnonymity(1)),
        ("Published by discreet", dc.KAnonymity(10) & dc.FrequencyDiversity(3)),
    ):
        report = dc.audit(dc.publish(data, dc.Generalization(promise)), data)
        counts = np.histogram(report.beliefs["occupation"], np.linspace(0, 1, BARS + 1))[0]
        certain = int((report.beliefs["occupation"] == 1).sum())
        panels.append((title, counts, certain))
    most = max(int(counts.max()) for _, counts, _ in panels)
    parts = [
        _panel(title, counts, certain, most, data.n, 20 + i * (WIDTH + 60))
        for i, (title, counts, certain) in enumerate(panels)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH + 100} 240" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#3b4754">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{"".join(parts)}</svg>\n'
    )


def _panel(title: str, counts: np.ndarray, certain: int, most: int, people: int, left: int) -> str:
    bar = WIDTH / BARS
    lines = [f'<text x="{left}" y="22" font-size="15" font-weight="600">{title}</text>\n']
    lines.append(
        f'<text x="{left}" y="40">{certain:,} of {people:,} people: occupation certain</text>\n'
    )
    for i, count in enumerate(counts):
        tall = round(int(count) / most * HEIGHT, 1)
        colour = "#b3261e" if i == BARS - 1 else "#3b6ea5"
        lines.append(
            f'<rect x="{left + i * bar + 1:.0f}" y="{200 - tall}" width="{bar - 2:.0f}" '
            f'height="{tall}" fill="{colour}"><title>{int(count):,} people</title></rect>\n'
        )
    lines.append(f'<path d="M{left} 200.5h{WIDTH}" stroke="#9aa7b4"/>\n')
    for share in (0, 0.5, 1):
        at = left + share * WIDTH
        lines.append(f'<text x="{at:.0f}" y="216" text-anchor="middle">{share:.0%}</text>\n')
    lines.append(
        f'<text x="{left + WIDTH / 2:.0f}" y="234" text-anchor="middle">'
        "largest belief in a person's occupation</text>\n"
    )
    return "".join(lines)


if __name__ == "__main__":
    TARGET.write_text(draw(), encoding="utf-8")
