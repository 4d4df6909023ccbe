"""Finds the model that a recipe names for each role."""

import os
from collections.abc import Mapping
from pathlib import Path

from dotenv import dotenv_values

from flows.recipe import ROLES, Recipe
from flows.settings import Settings
from llm.catalogue import entry_of
from llm.gateway import Model, Provider
from llm.ledger import Ledger
from llm.offline import Offline
from llm.recorded import Recorded
from llm.served import Served
from warehouse import BadInputError

RECORDED = "recorded:"
BUILDERS = ("extractor", "validator", "generator", "auditor")
"""The roles that a build asks."""


def models_of(recipe: Recipe, settings: Settings, ledger: Ledger) -> dict[str, Model]:
    """Return the model of each role; roles with the same name share one provider.

    Raises:
        BadInputError: a recording that cannot be read, or a key that is not set.
        ModelError: a name that no catalogue knows.
    """
    names = names_of(recipe)
    providers = {name: _provider(name, settings) for name in names.values()}
    for role in BUILDERS:
        provider = providers[names[role]]
        if isinstance(provider, Served) and provider.entry.key_variable and not provider.key:
            raise BadInputError(
                f"the model {names[role]} wants its key in {provider.entry.key_variable}, which is not set"
            )
    return {role: Model(providers[name], ledger) for role, name in names.items()}


def names_of(recipe: Recipe) -> dict[str, str]:
    """Return the name of the model in each role."""
    return {role: getattr(recipe.models, role).name for role in ROLES}


def stored(recipe: Recipe, models: Mapping[str, Model]) -> Recipe:
    """Return the recipe as it is kept: a recording stands there by its SHA-256, not by its path."""
    changed = {}
    for role, name in names_of(recipe).items():
        provider = models[role].provider
        if isinstance(provider, Recorded):
            model = name.rpartition("#")[2]
            changed[role] = {"name": f"{RECORDED}sha256:{provider.sha256}#{model}"}
    roles = recipe.models.model_dump() | changed
    return Recipe.model_validate(recipe.model_dump() | {"models": roles})


def _provider(name: str, settings: Settings) -> Provider:
    if name == "offline":
        return Offline()
    if name.startswith(RECORDED):
        path, hash_sign, model = name.removeprefix(RECORDED).rpartition("#")
        if not hash_sign or not path:
            raise BadInputError(f"{name!r} names no model: write recorded:FILE#model")
        return Recorded(Path(path), model)
    entry = entry_of(name, settings.catalogue)
    variables = {**dotenv_values(".env"), **os.environ}
    return Served(entry, variables.get(entry.key_variable) if entry.key_variable else None)
