"""Who knows an item's key: a person may not answer in a study what they wrote or decided on."""

from __future__ import annotations

from sqlmodel import Session, col, or_, select

from db.tables import Account, AuditEvent, Item, ItemVersion, ReviewDecision, Seed
from pipeline.errors import NotFoundError
from pipeline.people._accounts import account_named
from pipeline.permissions import NotAllowedError, Permission, needs
from pipeline.workspace import Workspace


@needs(Permission.VIEW_PEOPLE)
def list_conflicts(workspace: Workspace, name: str) -> list[str]:
    """Return the ids of the items that a person wrote or decided on, and so may not answer in a study.

    Somebody wrote an item who wrote or edited its seed, wrote one of its versions, or asked a model for it.

    Raises:
        NotFoundError: there is no such account.
    """
    with workspace.reading() as session:
        account = account_named(session, name)
        if account is None:
            raise NotFoundError(f"There is no account {name!r} in this workspace.")
        return sorted(_items_of(session, account))


@needs(Permission.ANSWER_STUDY)
def require_may_answer(workspace: Workspace, item_id: str, *, declared_retest: bool = False) -> None:
    """Refuse to let the actor answer an item in a study that the actor wrote or decided on.

    Args:
        workspace: as the reader uses it.
        item_id: the item to be answered.
        declared_retest: whether the study says that its readers know the items, and measures how they answer again.

    Raises:
        NotAllowedError: the actor may not answer it.
    """
    if declared_retest:
        return
    with workspace.reading() as session:
        account = account_named(session, workspace.actor.name)
        if account is None or item_id in _items_of(session, account):
            raise NotAllowedError(
                f"{workspace.actor.name} may not answer this item: who wrote or decided on an item knows its key. "
                "Nothing was stored."
            )


def _items_of(session: Session, account: Account) -> set[str]:
    """Return the ids of the items that a person wrote or decided on."""
    name, names = account.name, {account.name, account.display_name}
    edited = select(AuditEvent.object_id).where(
        AuditEvent.object_type == "seed", AuditEvent.action == "edit", AuditEvent.who == name
    )
    by_seed = (
        select(Item.id)
        .join(Seed, col(Seed.id) == col(Item.seed_id))
        .where(
            or_(
                col(Seed.created_by).in_(names),
                col(Seed.author).in_(names),
                col(Seed.id).in_(edited),
            )
        )
    )
    by_version = select(ItemVersion.item_id).where(col(ItemVersion.created_by).in_(names))
    by_decision = select(ReviewDecision.item_id).where(col(ReviewDecision.created_by).in_(names))
    return {*session.exec(by_seed), *session.exec(by_version), *session.exec(by_decision)}
