"""What clients look up before they ask: settings, and the tables of ``pg_catalog`` they read.

Names of columns are those of PostgreSQL. One with ``#`` holds numbers, with ``?`` truth values,
with ``[]`` lists, any other texts. Rows say what is known; everything else is empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discreet.serving.values import TYPES, WireType

OWNER, PUBLIC, SYSTEM, RELEASE = 10, 2200, 11, 16384
"""Numbers by which rows of the catalogue name each other."""

SETTINGS = {
    "server_version": "14.0 (discreet)",
    "server_version_num": "140000",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "is_superuser": "off",
    "default_transaction_read_only": "on",
    "in_hot_standby": "off",
    "transaction_read_only": "on",
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "search_path": "public",
    "statement_timeout": "0",
    "max_index_keys": "32",
    "max_identifier_length": "63",
    "extra_float_digits": "1",
    "lc_collate": "C",
    "application_name": "",
}
"""An older server is what every client knows how to ask."""
ANNOUNCED = tuple(SETTINGS)[:1] + tuple(SETTINGS)[2:12]
"""What every client is told when it connects."""

COLUMNS = {
    "pg_namespace": "oid# nspname nspowner# nspacl[]",
    "pg_class": "oid# relname relnamespace# reltype# reloftype# relowner# relam# relfilenode# "
    "reltablespace# relpages# reltuples# relallvisible# reltoastrelid# relhasindex? relisshared? "
    "relpersistence relkind relnatts# relchecks# relhasrules? relhastriggers? relhassubclass? "
    "relrowsecurity? relforcerowsecurity? relispopulated? relreplident relispartition? "
    "relhasoids? relacl[] reloptions[] relpartbound",
    "pg_attribute": "attrelid# attname atttypid# attlen# attnum# atttypmod# attndims# attbyval? "
    "attalign attstorage attcompression attnotnull? atthasdef? atthasmissing? attidentity "
    "attgenerated attisdropped? attislocal? attinhcount# attcollation# attstattarget# attacl[] "
    "attoptions[] attfdwoptions[]",
    "pg_type": "oid# typname typnamespace# typowner# typlen# typbyval? typtype typcategory "
    "typispreferred? typisdefined? typdelim typrelid# typelem# typarray# typinput typoutput "
    "typreceive typsend typnotnull? typbasetype# typtypmod# typndims# typcollation# typdefault "
    "typacl[]",
    "pg_database": "oid# datname datdba# encoding# datlocprovider datistemplate? datallowconn? "
    "datconnlimit# dattablespace# datcollate datctype daticulocale datacl[]",
    "pg_roles": "rolname rolsuper? rolinherit? rolcreaterole? rolcreatedb? rolcanlogin? "
    "rolreplication? rolconnlimit# rolvaliduntil rolbypassrls? oid#",
    "pg_settings": "name setting unit category short_desc context vartype source",
    "pg_tables": "schemaname tablename tableowner tablespace hasindexes? hasrules? hastriggers? "
    "rowsecurity?",
    "pg_am": "oid# amname amtype",
    "pg_views": "schemaname viewname viewowner definition",
    "pg_matviews": "schemaname matviewname matviewowner definition",
    "pg_description": "objoid# classoid# objsubid# description",
    "pg_shdescription": "objoid# classoid# description",
    "pg_attrdef": "oid# adrelid# adnum# adbin",
    "pg_collation": "oid# collname collnamespace# collowner# collprovider collencoding#",
    "pg_constraint": "oid# conname connamespace# contype condeferrable? condeferred? convalidated? "
    "conrelid# contypid# conindid# conparentid# confrelid# confupdtype confdeltype conkey#[] "
    "confkey#[]",
    "pg_index": "indexrelid# indrelid# indnatts# indisunique? indisprimary? indisclustered? "
    "indisvalid? indisreplident? indkey#[] indoption#[] indexprs indpred",
    "pg_inherits": "inhrelid# inhparent# inhseqno# inhdetachpending?",
    "pg_proc": "oid# proname pronamespace# proowner# prokind proretset? pronargs# prorettype#",
    "pg_enum": "oid# enumtypid# enumsortorder# enumlabel",
    "pg_range": "rngtypid# rngsubtype#",
    "pg_tablespace": "oid# spcname spcowner#",
    "pg_trigger": "oid# tgrelid# tgname tgenabled tgisinternal?",
    "pg_depend": "classid# objid# objsubid# refclassid# refobjid# refobjsubid# deptype",
    "pg_rewrite": "oid# rulename ev_class# ev_type",
    "pg_policy": "oid# polname polrelid#",
    "pg_extension": "oid# extname extnamespace# extversion",
    "pg_foreign_table": "ftrelid# ftserver#",
    "pg_foreign_server": "oid# srvname",
    "pg_sequence": "seqrelid# seqtypid# seqstart# seqincrement# seqmax# seqmin# seqcache# "
    "seqcycle?",
    "tables": "table_catalog table_schema table_name table_type is_insertable_into",
    "columns": "table_catalog table_schema table_name column_name ordinal_position# "
    "column_default is_nullable data_type character_maximum_length# numeric_precision# "
    "numeric_scale# datetime_precision# udt_name is_identity is_generated is_updatable",
    "schemata": "catalog_name schema_name schema_owner",
}  # fmt: skip

SHORT_NAMES = {16: "bool", 20: "int8", 25: "text", 701: "float8", 1082: "date"}
CATEGORIES = {16: "B", 20: "N", 25: "S", 701: "N", 1082: "D"}
OTHER_TYPES = {
    21: ("int2", "smallint", "N"), 23: ("int4", "integer", "N"), 26: ("oid", "oid", "N"),
    19: ("name", "name", "S"), 700: ("float4", "real", "N"), 705: ("unknown", "unknown", "X"),
    1043: ("varchar", "character varying", "S"), 1114: ("timestamp", "timestamp", "D"),
    1700: ("numeric", "numeric", "N"),
}  # fmt: skip
FULL_NAMES = {
    **{oid: kind.name for oid, kind in TYPES.items()},
    **{oid: names[1] for oid, names in OTHER_TYPES.items()},
}


def list_rows(
    database: str, databases: Iterable[str], columns: dict[str, WireType]
) -> dict[str, list[dict[str, Any]]]:
    """Say what stands in the catalogue of a database that has one table, ``release``."""
    here = {"table_catalog": database, "table_schema": "public", "table_name": "release"}
    types = [
        *((oid, SHORT_NAMES[oid], CATEGORIES[oid], kind.size) for oid, kind in TYPES.items()),
        *((oid, name, category, -1) for oid, (name, _, category) in OTHER_TYPES.items()),
    ]
    return {
        "pg_namespace": [
            {"oid": SYSTEM, "nspname": "pg_catalog", "nspowner": OWNER},
            {"oid": PUBLIC, "nspname": "public", "nspowner": OWNER},
        ],
        "pg_class": [
            {"oid": RELEASE, "relname": "release", "relnamespace": PUBLIC, "relowner": OWNER,
             "reltype": 0, "reloftype": 0, "relam": 2, "reltablespace": 0, "relpages": 0,
             "reltuples": -1, "reltoastrelid": 0, "relhasindex": False, "relpersistence": "p",
             "relkind": "r", "relnatts": len(columns), "relchecks": 0, "relhasrules": False,
             "relhastriggers": False, "relhassubclass": False, "relrowsecurity": False,
             "relforcerowsecurity": False, "relispopulated": True, "relreplident": "d",
             "relispartition": False, "relhasoids": False},
        ],
        "pg_attribute": [
            {"attrelid": RELEASE, "attname": name, "atttypid": kind.oid, "attlen": kind.size,
             "attnum": number, "atttypmod": -1, "attndims": 0, "attnotnull": False,
             "atthasdef": False, "attidentity": "", "attgenerated": "", "attisdropped": False,
             "attislocal": True, "attinhcount": 0, "attcollation": 0, "attstorage": "p",
             "attcompression": ""}
            for number, (name, kind) in enumerate(columns.items(), start=1)
        ],
        "pg_type": [
            {"oid": oid, "typname": name, "typnamespace": SYSTEM, "typowner": OWNER,
             "typlen": size, "typtype": "b", "typcategory": category, "typispreferred": False,
             "typisdefined": True, "typdelim": ",", "typrelid": 0, "typelem": 0, "typarray": 0,
             "typnotnull": False, "typbasetype": 0, "typtypmod": -1, "typndims": 0,
             "typcollation": 0, "typinput": f"{name}in", "typreceive": f"{name}recv"}
            for oid, name, category, size in types
        ],
        "pg_database": [
            {"oid": RELEASE + number, "datname": name, "datdba": OWNER, "encoding": 6,
             "datistemplate": False, "datallowconn": True, "datconnlimit": -1,
             "datcollate": "C", "datctype": "C", "datlocprovider": "c"}
            for number, name in enumerate(databases)
        ],
        "pg_roles": [
            {"rolname": "discreet", "rolsuper": False, "rolinherit": True, "rolcanlogin": True,
             "rolcreaterole": False, "rolcreatedb": False, "rolreplication": False,
             "rolconnlimit": -1, "rolbypassrls": False, "oid": OWNER},
        ],
        "pg_settings": [{"name": name, "setting": value} for name, value in SETTINGS.items()],
        "pg_am": [{"oid": 2, "amname": "heap", "amtype": "t"}],
        "pg_tables": [
            {"schemaname": "public", "tablename": "release", "tableowner": "discreet",
             "hasindexes": False, "hasrules": False, "hastriggers": False, "rowsecurity": False},
        ],
        "tables": [here | {"table_type": "BASE TABLE", "is_insertable_into": "NO"}],
        "columns": [
            here | {"column_name": name, "ordinal_position": number, "is_nullable": "YES",
                    "data_type": kind.name, "udt_name": SHORT_NAMES[kind.oid],
                    "is_identity": "NO", "is_generated": "NEVER", "is_updatable": "NO"}
            for number, (name, kind) in enumerate(columns.items(), start=1)
        ],
        "schemata": [
            {"catalog_name": database, "schema_name": "public", "schema_owner": "discreet"},
        ],
    }  # fmt: skip
