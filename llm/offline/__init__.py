"""The offline model: deterministic rules that need no network. It is no language model, and its name says so."""

import hashlib
import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from llm.attempts import Reply
from llm.offline.audit import audit_query
from llm.offline.extraction import extract
from llm.offline.queries import write_query
from llm.offline.updates import write_segments
from llm.offline.validation import validate
from llm.questions import Free, Question

NAME = "offline-rules"
RULES: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    "candidate_memories": extract,
    "memories": validate,
    "update_items": write_segments,
    "query_drafts": write_query,
    "leak_checks": audit_query,
}


class Offline(Free):
    """Answers by rules, one set for each prompt's name; the prompt's text is not read."""

    name = NAME

    def __init__(self) -> None:
        folder = Path(__file__).parent
        files = sorted([*folder.glob("*.py"), *folder.glob("*.toml"), *folder.parent.glob("words.*")])
        libraries = f"pystemmer {version('pystemmer')} stopwordsiso {version('stopwordsiso')}"
        code = b"".join(path.read_bytes() for path in files)
        digest = hashlib.sha256(code + libraries.encode()).hexdigest()
        self.identity: Mapping[str, str] = {"offline": digest}

    async def reply(self, question: Question[Any]) -> Reply:
        """Apply the rules for the prompt's name to the input."""
        answer = RULES[question.prompt.name](question.request.input)
        return Reply("ok", json.dumps(answer, ensure_ascii=False))
