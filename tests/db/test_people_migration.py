"""The migration to accounts with roles, on databases that hold something, there and back and there again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import JSON, Boolean, DateTime, Engine, Float, Integer, MetaData, Table, insert, select, text
from sqlalchemy.exc import IntegrityError

from db import connect, migrate, new_id, write_session
from db._schema import schema_revision
from db.tables import Account, AccountSession, Invitation, Signature, SignInThrottle

pytestmark = pytest.mark.both_engines

PEOPLE_REVISION = "0002"
ROWS = 7
ROLES = ("admin", "author", "reviewer", "reader", "coordinator", "auditor", "author")
NEW_TABLES = {"invitation", "account_session", "sign_in_throttle", "signature"}
THEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

Rows = dict[str, list[dict[str, Any]]]


def tables_of(engine: Engine) -> dict[str, Table]:
    """The tables as they are in the database, each after those that it refers to."""
    found = MetaData()
    found.reflect(engine)
    return {table.name: table for table in found.sorted_tables if table.name != "alembic_version"}


def value_of(column: Any, table: str, number: int) -> Any:
    """Something of the column's kind that tells rows apart and points to the row of the same number."""
    if column.foreign_keys:
        target = next(iter(column.foreign_keys)).column.table.name
        return None if target == table else f"{target}-{number}"
    match column.type:
        case Boolean():
            return number == 0
        case JSON():
            return {"number": number, "text": "Zoë 'quoted' \"twice\""}
        case Integer():
            return number
        case Float():
            return number + 0.25
        case DateTime():
            return THEN
        case _:
            return f"{table}-{number}"


def fill(engine: Engine) -> None:
    """Write some rows into every table, among them closed accounts."""
    with engine.begin() as connection:
        for name, table in tables_of(engine).items():
            for number in range(ROWS):
                row = {column.name: value_of(column, name, number) for column in table.columns}
                if name == "account":
                    row |= {"role": ROLES[number], "withdrawn_at": THEN if number > 4 else None}
                if name == "item":
                    row["current_version_id"] = value_of(tables_of(engine)["itemversion"].c.id, "itemversion", number)
                if name == "audit_event":
                    row["sequence"] = number + 1  # As the database counts them.
                connection.execute(insert(table).values(row))


def rows_of(engine: Engine) -> Rows:
    """All rows of all tables, by table."""
    with engine.connect() as connection:
        return {
            name: sorted((dict(row._mapping) for row in connection.execute(select(table))), key=str)
            for name, table in tables_of(engine).items()
        }


def without(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return sorted(({name: value for name, value in row.items() if name not in names} for row in rows), key=str)


PEOPLE = ("role", "roles", "pseudonym", "password_hash", "password_changed_at", "identity_issuer", "identity_subject")


@pytest.fixture
def filled(empty: Engine) -> Engine:
    """A database of the first schema with rows in every table."""
    migrate(empty, to="0001")
    fill(empty)
    assert all(len(rows) == ROWS for rows in rows_of(empty).values())
    return empty


def same_but_people(before: Rows, after: Rows) -> None:
    """See that nothing was lost or changed besides what the migration is about."""
    assert set(before) - NEW_TABLES == set(after) - NEW_TABLES
    for name in set(before) - NEW_TABLES - {"account"}:
        assert after[name] == before[name], name
    assert without(after["account"], *PEOPLE) == without(before["account"], *PEOPLE)


def test_accounts_get_their_role_as_roles_and_a_pseudonym(filled: Engine) -> None:
    before = rows_of(filled)
    migrate(filled, to=PEOPLE_REVISION)
    after = rows_of(filled)
    same_but_people(before, after)
    assert {row["id"]: row["roles"] for row in after["account"]} == {
        row["id"]: [row["role"]] for row in before["account"]
    }
    pseudonyms = [row["pseudonym"] for row in after["account"]]
    assert len(set(pseudonyms)) == ROWS
    assert all(one.startswith("P-") for one in pseudonyms)
    assert all(row["password_hash"] is None and row["identity_issuer"] is None for row in after["account"])
    assert all(after[name] == [] for name in NEW_TABLES)


def test_the_tables_of_the_program_read_and_write_what_was_migrated(filled: Engine) -> None:
    migrate(filled)
    with write_session(filled) as session:
        account = session.get_one(Account, "account-1")
        assert (account.name, account.roles, account.withdrawn_at) == ("account-1", ["author"], None)
        account.roles = ["author", "reviewer"]
        session.add(account)
        session.add(Account(id=new_id("acc"), created_by="a", name="new", display_name="New", roles=["reader"]))
    double = Account(id=new_id("acc"), created_by="a", name="d", display_name="D", pseudonym=account.pseudonym)
    with pytest.raises(IntegrityError), write_session(filled) as session:
        session.add(double)
    person = {"identity_issuer": "https://id.example.org", "identity_subject": "1"}
    for turn, name in enumerate(("one", "two")):
        row = Account(id=new_id("acc"), created_by="a", name=name, display_name=name, roles=["reader"], **person)
        if turn == 0:
            with write_session(filled) as session:
                session.add(row)
        else:
            with pytest.raises(IntegrityError), write_session(filled) as session:
                session.add(row)


def test_down_and_up_again_loses_only_what_the_first_schema_has_no_place_for(filled: Engine) -> None:
    before = rows_of(filled)
    migrate(filled, to=PEOPLE_REVISION)
    with write_session(filled) as session:
        for identifier, roles in (("account-2", ["coordinator", "reviewer"]), ("account-3", [])):
            account = session.get_one(Account, identifier)
            account.roles, account.password_hash = roles, "$argon2id$"
            session.add(account)
        made = {"created_by": "a", "account_id": "account-1"}
        session.add(Invitation(id="inv_1", token_sha256="00", expires_at=THEN, **made))
        session.add(AccountSession(id="ses_1", secret_sha256="00", account_id="account-1", expires_at=THEN))
        session.add(SignInThrottle(key="00", failures=3))
        session.add(
            Signature(
                id="sig_1",
                object_type="release",
                object_id="release-1",
                content_sha256="00",
                meaning="approved",
                role="admin",
                **made,
            )
        )
    migrate(filled, to="0001")
    down = rows_of(filled)
    assert set(down) == set(before)
    roles = {row["id"]: row["role"] for row in before["account"]} | {
        "account-2": "coordinator",
        "account-3": "reader",
    }
    assert {row["id"]: row["role"] for row in down["account"]} == roles
    down["account"] = without(down["account"], "changed_at", "row_version")
    before["account"] = without(before["account"], "changed_at", "row_version")
    same_but_people(before, down)
    migrate(filled, to=PEOPLE_REVISION)
    up = rows_of(filled)
    assert {row["id"]: row["roles"] for row in up["account"]} == {name: [role] for name, role in roles.items()}
    assert {name: len(rows) for name, rows in up.items() if name not in NEW_TABLES} == dict.fromkeys(before, ROWS)


def test_an_empty_database_of_the_first_schema_is_migrated_too(empty: Engine) -> None:
    migrate(empty, to="0001")
    migrate(empty, to=PEOPLE_REVISION)
    assert schema_revision(empty) == PEOPLE_REVISION
    migrate(empty, to="base")
    assert tables_of(empty) == {}


def test_a_migration_that_fails_leaves_the_rows_as_they_were(filled: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows_of(filled)
    # The same pseudonym for everybody: the unique constraint refuses it, halfway.
    monkeypatch.setattr("db._ids.secrets.choice", lambda _: "A")
    with pytest.raises(IntegrityError):
        migrate(filled, to=PEOPLE_REVISION)
    filled.dispose()
    again = connect(filled.url.render_as_string(hide_password=False))
    assert schema_revision(again) == "0001"
    assert rows_of(again) == before
    monkeypatch.undo()
    migrate(again, to=PEOPLE_REVISION)
    assert schema_revision(again) == PEOPLE_REVISION
    same_but_people(before, rows_of(again))
    again.dispose()


def test_errors_do_not_repeat_what_was_to_be_written(empty: Engine) -> None:
    migrate(empty)
    secret = "$argon2id$v=19$secret"

    def twice() -> None:
        for _ in range(2):
            with write_session(empty) as session:
                session.add(Account(id="acc_1", created_by="a", name="n", display_name="N", password_hash=secret))

    with pytest.raises(IntegrityError) as error:
        twice()
    assert secret not in str(error.value)
    with empty.connect() as connection, pytest.raises(Exception, match="no_such_table") as other:
        connection.execute(text("INSERT INTO no_such_table VALUES (:secret)"), {"secret": secret})
    assert secret not in str(other.value)
