"""Where things are. What a table is made of stands in the recipe, never here."""

from pathlib import Path

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from warehouse import BadInputError


def read_settings() -> "Settings":
    """Read the settings.

    Raises:
        BadInputError: one of them is not right; it names the variable.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        name = "_".join(map(str, first["loc"])).upper()
        raise BadInputError(f"ALPSBENCH_{name}: {first['msg']}") from None


class Settings(BaseSettings):
    """Paths, addresses and keys, each from an environment variable ALPSBENCH_NAME or from `.env`."""

    model_config = SettingsConfigDict(env_prefix="ALPSBENCH_", env_file=".env", extra="ignore", frozen=True)

    home: Path = Path("benchmark")
    secret: str | None = Field(default=None, repr=False)
    catalogue: Path | None = None
    gateway_token: str | None = Field(default=None, repr=False)
    concurrency: int | None = Field(default=None, ge=1, le=1000)
