"""Whether a database is as the program writes it: its tables and columns, and that every row can be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from sqlalchemy import Connection, Engine, Row, Select, Table, inspect, select
from sqlmodel import SQLModel

import db.tables
from db._copy import BATCH, MAX_FAULTS
from db.audit import UNREADABLE


def faults_of_schema(engine: Engine) -> list[str]:
    """Return how the tables differ from those that this program needs, one line each; other tables do not count."""
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        found: list[Any] = compare_metadata(context, SQLModel.metadata)
    # What is changed about one column comes as a list.
    differences = [one for entry in found for one in (entry if isinstance(entry, list) else [entry])]
    return [_in_words(one) for one in differences if one[0] != "remove_table"][:MAX_FAULTS]


def _in_words(difference: tuple[Any, ...]) -> str:
    match difference:
        case "add_table", table:
            return f"the table {table.name} is missing"
        case "add_column", _, table, column:
            return f"the column {table}.{column.name} is missing"
        case "remove_column", _, table, column:
            return f"the column {table}.{column.name} is none of this program's"
        case str(kind), _, str(table), str(column), *_ if kind.startswith("modify_"):
            return f"the column {table}.{column} is another one ({kind.removeprefix('modify_')})"
        case str(kind), part, *_:
            owner = getattr(part, "table", None)
            of = f" of {owner.name}" if owner is not None else ""
            return f"{kind.replace('_', ' ')} {getattr(part, 'name', None) or 'without a name'}{of}"
    return str(difference[0])


def faults_of_rows(engine: Engine) -> list[str]:
    """Return the rows that cannot be read or hold a value of another kind, one line each, the first `MAX_FAULTS`."""
    faults: list[str] = []
    with engine.connect() as connection:
        present = set(inspect(connection).get_table_names())
        for table, shape in _shapes().items():
            if table.name not in present:
                continue
            for fault in _faults_of_table(connection, table, shape):
                faults.append(fault)
                if len(faults) == MAX_FAULTS:
                    return faults
    return faults


def _shapes() -> Mapping[Table, type[BaseModel]]:
    """Return what a row of each table is, since the classes of tables do not validate."""
    shapes: dict[Table, type[BaseModel]] = {}
    for kind in vars(db.tables).values():
        table = getattr(kind, "__table__", None)
        if isinstance(table, Table):
            fields: dict[str, Any] = {name: (field.annotation, ...) for name, field in kind.model_fields.items()}
            shapes[table] = create_model(kind.__name__, __config__=ConfigDict(strict=True), **fields)
    return shapes


def _faults_of_table(connection: Connection, table: Table, shape: type[BaseModel]) -> Iterator[str]:
    rows, passed = select(table).order_by(*table.primary_key.columns), 0
    while True:
        try:
            for part in connection.execute(rows.offset(passed).execution_options(yield_per=BATCH)).partitions():
                yield from _faults_of_part(table, shape, part, passed)
                passed += len(part)
            return
        except UNREADABLE:
            # Somewhere in the part that would have come: its rows one by one, then on.
            yield from _faults_one_by_one(connection, table, shape, rows, passed)
            passed += BATCH


def _faults_of_part(table: Table, shape: type[BaseModel], part: Sequence[Row[Any]], passed: int) -> Iterator[str]:
    for number, row in enumerate(part, start=passed + 1):
        try:
            shape.model_validate(dict(row._mapping))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            column = first["loc"][0] if first["loc"] else "a column"
            yield f"{_place(table, row, number)}: {column} is no value of this program's: {first['msg']}"


def _faults_one_by_one(
    connection: Connection, table: Table, shape: type[BaseModel], rows: Select[Any], passed: int
) -> Iterator[str]:
    for number in range(passed, passed + BATCH):
        try:
            part = connection.execute(rows.offset(number).limit(1)).all()
        except UNREADABLE:
            yield f"{_place(table, _key_at(connection, table, number), number + 1)}: it cannot be read"
            continue
        if not part:
            return
        yield from _faults_of_part(table, shape, part, number)


def _key_at(connection: Connection, table: Table, number: int) -> Row[Any] | None:
    keys = list(table.primary_key.columns)
    try:
        return connection.execute(select(*keys).order_by(*keys).offset(number).limit(1)).first()
    except UNREADABLE:
        return None


def _place(table: Table, row: Row[Any] | None, number: int) -> str:
    key = None if row is None else ", ".join(str(row._mapping[column.name]) for column in table.primary_key.columns)
    return f"{table.name} {key}" if key is not None and key.isprintable() else f"row {number:,} of {table.name}"
