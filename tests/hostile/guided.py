"""Mutations that a reader's own branches guide, by atheris: ``python -m hostile.guided``.

What reaches a branch that nothing reached before is kept, and changed further: so depths are found
that chance misses. Every target has a process of its own, with the limits of a command. What makes
one fail is written into a file ``guided-TARGET-...`` here, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from hostile.walking import BYTES, SECONDS

KERNELS = Path(__file__).parents[2] / "src" / "discreet" / "kernels"
MISSING = "There is no atheris, which guides mutations (pip install atheris): chance does alone."


def main() -> int:
    """Guide mutations of all targets, one after the other, or of one."""
    parser = argparse.ArgumentParser(prog="guided", description=__doc__)
    parser.add_argument("target", nargs="?", help="one of them; else all")
    parser.add_argument("--minutes", type=float, default=1, help="for each target")
    asked = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print(MISSING, file=sys.stderr)
        return 0
    from hostile.targets import NAMES

    names = NAMES if asked.target is None else [asked.target]
    if not set(names) <= set(NAMES):
        parser.error(f"{asked.target} is none of {', '.join(NAMES)}")
    failed = [name for name in names if not holds(name, asked.minutes)]
    print(f"{len(failed)} targets fail: {', '.join(failed)}" if failed else "All targets hold.")
    return int(bool(failed))


def holds(name: str, minutes: float) -> bool:
    """Feed a target for a while, in a process of its own."""
    limits = [
        f"-max_total_time={max(1, round(60 * minutes))}", f"-timeout={SECONDS}",
        f"-rss_limit_mb={BYTES >> 20}", f"-artifact_prefix=guided-{name}-", "-print_final_stats=1",
    ]  # fmt: skip
    program = "from hostile.guided import feed; feed()"
    with tempfile.TemporaryDirectory(prefix="guided-") as folder:
        done = subprocess.run([sys.executable, "-c", program, name, folder, *limits], check=False)
    print(f"{name}: {'fails' if done.returncode else 'holds'}", flush=True)
    return not done.returncode


def feed() -> None:
    """Feed the target that the process is told, until its time is over or it fails."""
    import atheris

    name, folder, *limits = sys.argv[1:]
    place, corpus = Path(folder, "place"), Path(folder, "corpus")
    place.mkdir()
    corpus.mkdir()
    # what Numba compiles must stay as it is written
    kernels = [f"discreet.kernels.{file.stem}" for file in KERNELS.glob("*.py")]
    with atheris.instrument_imports(include=["discreet"], exclude=kernels):
        from hostile.targets import make_targets

        target = make_targets(place)[name]
        for number, seed in enumerate(target.seeds):
            (corpus / str(number)).write_bytes(seed)
            target.feed(seed)  # what is imported when it is needed is looked into, too
    atheris.Setup([sys.argv[0], *limits, str(corpus)], target.feed)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
