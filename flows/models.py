"""Finds the model that a recipe names for each role."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from dotenv import dotenv_values

from flows.recipe import ROLES, Recipe, Role
from flows.settings import Settings
from llm.catalogue import entry_of
from llm.gateway import Model, Provider
from llm.jobs import Jobs
from llm.ledger import Ledger
from llm.offline import Offline
from llm.pace import Pace
from llm.recorded import Recorded
from llm.served import Served
from warehouse import BadInputError

RECORDED = "recorded:"


def models_of(recipe: Recipe, settings: Settings, ledger: Ledger, sharers: int = 1) -> dict[str, Model]:
    """Return the model of each role; roles with the same name share one provider.

    So many processes as `sharers` share what a server bears.

    Raises:
        BadInputError: a recording that cannot be read.
        ModelError: a name that no catalogue knows.
    """
    roles: dict[str, Role] = {role: getattr(recipe.models, role) for role in ROLES}
    paces: dict[str, Pace] = {}
    providers = {role: _provider(role, settings, paces, sharers) for role in roles.values()}
    most = recipe.budget.most_nano_usd
    return {name: Model(providers[role], ledger, most_nano_usd=most) for name, role in roles.items()}


def check_keys(models: Mapping[str, Model], roles: Iterable[str]) -> None:
    """Look whether the models that play these roles have their keys.

    Raises:
        BadInputError: one is not set.
    """
    for role in roles:
        provider = models[role].provider
        if isinstance(provider, Served) and provider.entry.key_variable and not provider.has_key:
            raise BadInputError(
                f"the model {provider.name} wants its key in {provider.entry.key_variable}, which is not set"
            )


def names_of(recipe: Recipe) -> dict[str, str]:
    """Return the name of the model in each role."""
    return {role: getattr(recipe.models, role).name for role in ROLES}


def stored(recipe: Recipe, models: Mapping[str, Model], dataset: str | None = None) -> Recipe:
    """Return the recipe as it is kept: a recording by its SHA-256, not by its path, and the dataset that was read.

    How calls are made and what they may cost is no part of a version.
    """
    changed = {}
    for role, name in names_of(recipe).items():
        provider = models[role].provider
        if isinstance(provider, Recorded):
            model = name.rpartition("#")[2]
            changed[role] = {"name": f"{RECORDED}sha256:{provider.sha256}#{model}"}
    roles = {
        role: {**values, "batch": False, **changed.get(role, {})} for role, values in recipe.models.model_dump().items()
    }
    kept = recipe.model_dump(exclude={"budget"})
    return Recipe.model_validate(kept | {"models": roles, "source": {"dataset": dataset}})


def _provider(role: Role, settings: Settings, paces: dict[str, Pace], sharers: int) -> Provider:
    name = role.name
    if name == "offline":
        return Offline()
    if name.startswith(RECORDED):
        path, hash_sign, model = name.removeprefix(RECORDED).rpartition("#")
        if not hash_sign or not path:
            raise BadInputError(f"{name!r} names no model: write recorded:FILE#model")
        return Recorded(Path(path), model)
    entry = entry_of(name, settings.catalogue)
    key = variables().get(entry.key_variable) if entry.key_variable else None
    # Whoever calls at one address shares its limit.
    most = max(1, (settings.concurrency or entry.concurrency) // sharers)
    pace = paces.setdefault(entry.url, Pace(most))
    jobs = Jobs() if role.batch else None
    return Served(entry, key, role.sampling, role.max_tokens, pace, jobs=jobs)


def variables() -> dict[str, str | None]:
    """Return the variables that may hold keys: those of the environment, and of `.env` where it has more."""
    return {**dotenv_values(".env"), **os.environ}
