"""A database that must be reachable."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.programs import facts_of
from skill_health.needs.reading.read import SkillReading, phrase, signs_of_phrase
from skill_health.text.patterns import lazy

ORDER = 11
TITLE = "Access to DB"
MEANING = "A database must be reachable: SQL, a warehouse, a vector store, Redis as a store."

_URL = lazy(r"\b(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|redis|mssql|clickhouse|neo4j|bolt|snowflake|jdbc:\w+)://")
_PACKAGES = frozenset(
    "psycopg2 psycopg asyncpg pymysql pymongo redis sqlalchemy mysql snowflake clickhouse_connect duckdb "
    "neo4j chromadb qdrant_client pinecone weaviate pg mysql2 mongoose ioredis cassandra pyodbc oracledb".split()
)
_SAID = phrase(
    "database|warehouse|snowflake|bigquery|postgres|mysql|redshift|databricks|mongodb|vector store|redis|sqlite|clickhouse|supabase|duckdb",
    r"\b(?:query|queries|querying|connect(?:s|ed|ing)? to|run (?:sql|queries|the query)|execut\w+ (?:sql|"
    r"queries|the query)|explore|read[- ]only access to|access to|inspect|against|into|from|requires?|needs?|"
    r"running)\b[^.\n]{0,30}"
    r"\b((?:the |your |a |live |production )*(?:database|data ?warehouse|warehouse|snowflake|bigquery|"
    r"postgres(?:ql)?|mysql|redshift|databricks|mongodb|vector (?:store|database)|redis|clickhouse|supabase "
    r"database))\b",
)
_NAMES = lazy(
    r"^(?:DATABASE_URL|DB_(?:HOST|URL|NAME|USER|PASSWORD|CONNECTION\w*)|PG(?:HOST|DATABASE|PASSWORD|USER)|"
    r"POSTGRES_\w+|MYSQL_\w+|MONGO\w*_UR[IL]|REDIS_(?:URL|HOST)|SNOWFLAKE_\w+|NEO4J_\w+|CLICKHOUSE_\w+|"
    r"\w*_DATABASE_URL|QDRANT_URL)$"
)
_DOLLAR = lazy(r"\$\{?([A-Z][A-Z0-9_]{2,40})")
_ABOUT = lazy(
    r"\b(?:quer(?:y|ies|ying)|explor|analy[sz]|optimi[sz]|inspect|connect|debug|administ|run|"
    r"migrat)\w*\b[^.\n]{0,50}\b(?:databases?|warehouses?|snowflake|bigquery|postgres\w*|mysql|redshift|"
    r"mongodb|clickhouse|redis|sql quer\w+)\b"
)


def find(reading: SkillReading) -> Iterator[Sign]:
    """Clients in commands, addresses and variables of databases, drivers of scripts, and sentences that query one."""
    if match := _ABOUT.search(reading.about):
        yield reading.sign(0.35, EvidenceKind.SENTENCE, "what it is for", reading.about_line, match[0])
    for name, line in reading.declared.variables:
        if _NAMES.match(name):
            yield reading.sign(1.0, EvidenceKind.DECLARED, name, line)
    for name, line in reading.declared.programs:
        if "database" in facts_of(name).tags and name not in ("sqlite3", "duckdb", "dbt"):
            yield reading.sign(1.0, EvidenceKind.DECLARED, name, line)
    for placed in reading.commands:
        command = placed.command
        if "database" in facts_of(command.program).tags:
            light = command.program in (
                "dbt",
                "prisma",
                "alembic",
                "sqlite3",
                "duckdb",
                "drizzle-kit",
                "flyway",
                "liquibase",
            )
            yield reading.sign(
                (0.55 if light else 0.9) * placed.weight,
                EvidenceKind.COMMAND,
                command.program,
                placed.line,
                command.text,
            )
        for match in _DOLLAR.finditer(command.text) if "$" in command.text else ():
            if _NAMES.match(match[1]):
                yield reading.sign(0.8 * placed.weight, EvidenceKind.VARIABLE, match[1], placed.line, command.text)
        if "://" in command.text and (match := _URL.search(command.text)):
            yield reading.sign(0.6 * placed.weight, EvidenceKind.HOST, match[0], placed.line, command.text)
    for script in reading.scripts:
        for use in script.uses:
            weight = 1.0 if script.weight >= 0.7 else 0.4
            if use.kind == "package" and use.name in _PACKAGES:
                yield reading.sign(
                    0.8 * weight,
                    EvidenceKind.IMPORT,
                    use.name,
                    use.line,
                    f"{script.file} imports {use.name}",
                    script.path,
                )
            elif use.kind == "program" and use.name in ("psql", "mysql", "mongosh", "redis-cli"):
                yield reading.sign(
                    weight, EvidenceKind.SCRIPT, use.name, use.line, f"{script.file} runs {use.name}", script.path
                )
            elif use.kind in ("variable", "required") and _NAMES.match(use.name):
                yield reading.sign(
                    0.7 * weight,
                    EvidenceKind.VARIABLE,
                    use.name,
                    use.line,
                    f"{script.file} reads {use.name}",
                    script.path,
                )
    yield from signs_of_phrase(reading, _SAID, 0.45, "")
