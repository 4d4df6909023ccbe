"""The provider that replays answers from a Parquet file of model, prompt, subject and answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from llm.attempts import Reply
from llm.questions import Free, Question
from warehouse import BadInputError, sha256_of


class Recorded(Free):
    """Answers of one model, by prompt and subject; what was not recorded is not answered."""

    def __init__(self, path: Path, model: str) -> None:
        """Read the answers of `model` from `path`.

        Raises:
            BadInputError: there is no such file, it is not of the right form, or holds no such model.
        """
        if str(path).startswith("sha256:") and not path.exists():
            raise BadInputError(
                f"{path} is the hash of a recording, as the recipe of a release has it: give the file itself, as in "
                "--set models.extractor.name=recorded:FILE#MODEL"
            )
        columns = ["model", "prompt", "subject", "answer"]
        try:
            table = pq.read_table(path, columns=columns).select(columns)
            table = table.cast(pa.schema([(name, pa.large_string()) for name in columns]))
        except FileNotFoundError:
            raise BadInputError(f"no recordings at {path}") from None
        except (pa.ArrowException, OSError):
            raise BadInputError(f"{path} is no Parquet file with the columns {', '.join(columns)}") from None
        rows = table.filter(pc.equal(table["model"], model)).to_pylist()
        if not rows:
            raise BadInputError(f"{path} holds no answer of {model!r}; it has {_models(table)}")
        self.name = f"recorded:{model}"
        self.sha256 = sha256_of(path)
        self.identity: Mapping[str, str] = {"recorded": self.sha256, "model": model}
        self.answers = {(row["prompt"], row["subject"]): row["answer"] or "" for row in rows}

    async def reply(self, question: Question[Any]) -> Reply:
        """Return the recorded answer, if there is one."""
        answer = self.answers.get((question.prompt.name, question.request.subject))
        return Reply("not_recorded") if answer is None else Reply("ok", answer)


def _models(table: object) -> str:
    names = sorted(pc.unique(table["model"]).to_pylist())  # type: ignore[index] # pyarrow has no types
    return ", ".join(map(str, names)) or "none"
