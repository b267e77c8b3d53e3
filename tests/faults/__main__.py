"""Strike every call of every scene with every fault: ``make faults``. Ends with 1 upon harm."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from faults.running import ERRORS, KILLED, Stage, find_compiler, list_faults
from faults.scenes import SCENES


def main() -> int:
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--only", choices=SCENES, help="a scene")
    parser.add_argument("--kinds", default=",".join([KILLED, *ERRORS]))
    asked = parser.parse_args()
    if find_compiler() is None:
        print("A C compiler on Linux is needed: as root, apt-get install gcc", file=sys.stderr)
        return 1
    scenes = [asked.only] if asked.only else list(SCENES)
    harmful = 0
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        stage = Stage(Path(folder), scenes)
        for scene in scenes:
            faults = list(list_faults(scene, stage.begin(scene), asked.kinds.split(",")))
            found = 0
            for fault in faults:
                problems = stage.strike(fault)
                found += bool(problems)
                if problems:
                    print(fault, *problems, sep="\n  ", flush=True)
            harmful += found
            print(f"{scene}: {len(faults)} faults, {found} do harm", flush=True)
        stage.close()
    return int(harmful > 0)


if __name__ == "__main__":
    sys.exit(main())
