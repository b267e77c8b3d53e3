"""Croissant: a release described for catalogues of data sets, from its folder alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from discreet.files import digest
from discreet.release import Release
from discreet.release.about import explain_columns
from discreet.release.formulas import restore_text
from discreet.release.manifest import MANIFEST, ColumnPart, Resource
from discreet.release.store import README, load, read_manifest

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
OURS = (
    "citeAs", "column", "equivalentProperty", "extract", "field", "fileObject", "fileProperty",
    "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField",
    "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator",
    "source", "subField", "transform",
)  # fmt: skip
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in OURS},
}
"""The context that the specification of Croissant 1.0 asks for."""
KINDS = {
    ".parquet": "application/x-parquet",
    ".csv": "text/csv",
    ".json": "application/json",
    ".md": "text/markdown",
}
TYPES = {
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "string": "sc:Text",
}


def describe(folder: str | Path) -> dict[str, Any]:
    """Describe a release as Croissant 1.0: its files with SHA-256, its tables with their columns.

    Files are named without a folder: the description goes where they go. Who publishes, where,
    when and under which licence is not in a release; the publisher adds it.
    """
    folder = Path(folder)
    release = load(folder)
    manifest = read_manifest(folder)
    files = [*(path for table in manifest.resources for path in table.paths), MANIFEST, README]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": manifest.name,
        "description": " ".join(
            [release.promise.guarantee, "Not protected:", *release.promise.leaves_open]
        ),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": path,
                "name": path,
                "contentUrl": path,
                "encodingFormat": KINDS[Path(path).suffix],
                "sha256": digest(folder / path),
            }
            for path in files
            if (folder / path).is_file()
        ]
        + [
            {
                "@type": "cr:FileSet",
                "@id": f"{table.name} in files",
                "name": f"{table.name} in files",
                "includes": table.paths,
                "encodingFormat": KINDS[Path(table.paths[0]).suffix],
            }
            for table in manifest.resources
            if len(table.paths) > 1
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": table.name,
                "name": table.name,
                "description": table.description,
                "field": _describe_fields(release, table),
            }
            for table in manifest.resources
        ],
    }


def _name_source(table: Resource) -> dict[str, Any]:
    if len(table.paths) == 1:
        return {"fileObject": {"@id": table.paths[0]}}
    return {"fileSet": {"@id": f"{table.name} in files"}}


def _describe_fields(release: Release, table: Resource) -> list[dict[str, Any]]:
    # others may have columns of any name
    about = explain_columns(release) if table.name in release.carriers else {}
    read = restore_text if table.escape else str
    return [
        {
            "@type": "cr:Field",
            "@id": quote(f"{table.name}/{column.name}"),
            "name": column.name,
            # a column that carries no attribute is explained with its table
            "description": about.get(read(column.name), _explain_own(column, table)),
            "dataType": TYPES[column.type],
            "source": {**_name_source(table), "extract": {"column": column.name}},
        }
        for column in table.columns.fields
    ]


def _explain_own(column: ColumnPart, table: Resource) -> str:
    return " ".join(filter(None, [column.description, table.description]))
