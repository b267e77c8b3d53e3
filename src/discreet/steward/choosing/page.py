"""The comparison as a page: advice, charts, and the table."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.evaluate.charts import dress
from discreet.forms.adversaries import Adversary
from discreet.pages import write_page
from discreet.pages.marks import GLYPHS, Mark, find_mark
from discreet.steward.choosing.advice import PURPOSES

if TYPE_CHECKING:
    from discreet.steward.choosing.comparison import Comparison
    from discreet.steward.choosing.trial import Trial

MODELS = "model"
WIDTH, HEIGHT = 500, 300
CLOSE = 0.05
"""Points nearer than this share of both axes have one label."""
POINT = re.compile(r'<path aria-label="([^"]*)"([^>]*)/>')


def show_comparison(found: Comparison, path: Path) -> Path:
    """Write the page; it loads nothing from anywhere."""
    return write_page(
        path,
        "comparison.html",
        found=found,
        kinds=list(found.questions),
        purposes=PURPOSES,
        adversaries=[str(one) for one in Adversary],
        diverged=any(t.divergence is not None for t in found.trials),
        charts=[(title, _write_svg(chart)) for title, chart in draw_frontiers(found)],
        marks={t.method: _show_mark(find_mark(t.method)) for t in found.trials},
        recommended={(told.purpose, id(told.trial)) for told in found.advices if told.trial},
    )


def _show_mark(mark: Mark) -> tuple[str, str]:
    return mark.colour, GLYPHS[mark.shape]


def draw_frontiers(found: Comparison) -> list[tuple[str, Any]]:
    """Draw privacy against utility, a titled chart per purpose; none without the library."""
    try:
        import altair as alt
    except ImportError:
        return []
    charts = []
    for kind in [*found.questions, MODELS]:
        points = _place_points(found, kind)
        if points:
            title = "People whom a trained model gets right" if kind == MODELS else (
                f"Error of {PURPOSES[kind]}")  # fmt: skip
            charts.append((title, _draw(alt, points, kind, found)))
    return charts


def _place_points(found: Comparison, kind: str) -> list[dict[str, Any]]:
    """List the releases that can be compared for a purpose, each with what is said of it."""
    chosen = {id(told.trial) for told in found.advices if told.purpose == kind}
    points = []
    for number, t in enumerate(found.trials, start=1):
        value = _measure(t, kind)
        if t.problem is None and t.worst_belief is not None and value is not None:
            points.append({
                "number": str(number), "method": t.method, "belief": t.worst_belief,
                "value": value, "height": value if kind == MODELS else value**0.5,
                "chosen": id(t) in chosen, "said": _say(number, t, kind),
                "series": f"{t.method} {t.promise.split('(')[0]} {t.setting}",
            })  # fmt: skip
    _join_labels(points)
    return points


def _measure(trial: Trial, kind: str) -> float | None:
    if kind == MODELS:
        return trial.accuracy
    errors = trial.errors.get(kind)
    return None if errors is None else errors.median


def _say(number: int, trial: Trial, kind: str) -> str:
    told = [f"{number}: {trial.label}", f"largest belief {trial.worst_belief:.1%}"]
    if kind == MODELS:
        told.append(f"right about {trial.accuracy:.1%}")
    else:
        errors = trial.errors[kind]
        told.append(f"half of {errors.questions:,} answers off by at most {errors.median:.1%}, "
                    f"nine of ten by at most {errors.high:.1%}")  # fmt: skip
    return "\n".join(told)


def _join_labels(points: list[dict[str, Any]]) -> None:
    """Give points that lie together one label, as labels would lie upon each other."""
    groups: list[list[dict[str, Any]]] = []
    reach = {}
    for axis in ("belief", "height"):
        places = [point[axis] for point in points]
        reach[axis] = CLOSE * (max(places, default=0) - min(places, default=0))
    for point in points:
        for group in groups:
            if all(abs(point[axis] - group[0][axis]) <= near for axis, near in reach.items()):
                group.append(point)
                break
        else:
            groups.append([point])
    for group in groups:
        for point in group:
            point["label"] = ""
        group[0]["label"] = ", ".join(point["number"] for point in group)


def _draw(alt: Any, points: list[dict[str, Any]], kind: str, found: Comparison) -> Any:
    methods = sorted({point["method"] for point in points})
    marks = [find_mark(method) for method in methods]
    looks = [m.colour for m in marks], [m.shape for m in marks]
    colour, shape = (
        encode("method:N", title=None, sort=methods, scale=alt.Scale(domain=methods, range=look))
        for encode, look in zip((alt.Color, alt.Shape), looks, strict=True)
    )
    # errors near nothing are told apart as well
    most = max(point["value"] for point in points)
    height = alt.Scale(zero=False, padding=14) if kind == MODELS else (
        alt.Scale(type="sqrt", domain=[0, 1.15 * most or 0.01], nice=False))  # fmt: skip
    axis = alt.Axis(format="%", tickCount=6)
    x = alt.X("belief:Q", title="largest belief in a value of anyone", axis=axis,
              scale=alt.Scale(zero=False, padding=18))  # fmt: skip
    measured = "accuracy" if kind == MODELS else "median relative error (square-root scale)"
    y = alt.Y("value:Q", title=measured, axis=axis, scale=height)
    base = alt.Chart(alt.InlineData(points)).encode(x=x, y=y)
    layers = [
        base.mark_line(strokeWidth=1.5, opacity=0.6).encode(color=colour, detail="series:N"),
        base.mark_point(size=420, strokeWidth=2, stroke="var(--ink)", fill=None)
        .transform_filter("datum.chosen"),
        base.mark_point(filled=True, size=120, opacity=1)
        .encode(color=colour, shape=shape, description="said:N"),
        base.mark_text(align="left", dx=11, dy=-8, fontSize=13, fill="var(--ink)")
        .encode(text="label:N"),
    ]  # fmt: skip
    if found.bar is not None and found.bar.belief is not None:
        bar = alt.Chart(alt.InlineData([{"belief": found.bar.belief}]))
        layers.insert(0, bar.mark_rule(strokeDash=[5, 4], stroke="var(--soft)").encode(x=x))
    return (
        dress(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT))
        .configure_axisY(titlePadding=16)
        .configure_legend(
            labelFontSize=13,
            labelColor="var(--ink)",
            orient="bottom",
            columns=4,
            symbolSize=110,
            columnPadding=16,
            symbolOpacity=1,
        )
    )


def _write_svg(chart: Any) -> str:
    buffer = io.StringIO()
    chart.save(buffer, format="svg")
    # what is read out to the blind is shown to others who point at it
    return POINT.sub(r"<path\2><title>\1</title></path>", buffer.getvalue())
