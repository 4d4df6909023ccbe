"""How the loopback server is steered and looked at."""

from dataclasses import asdict, dataclass

import orjson
from loopback_batches import Batches
from loopback_files import Files
from loopback_http import Answer, Request, error_answer, json_answer
from loopback_model import Model
from loopback_plan import read_plan


@dataclass
class Control:
    """The endpoints below /control."""

    model: Model
    files: Files
    batches: Batches

    def plan(self, request: Request) -> Answer:
        """Answer GET /control."""
        return json_answer(asdict(self.model.plan))

    def set_plan(self, request: Request) -> Answer:
        """Answer POST /control: take the plan that is sent, all else of it as in a plan that says nothing."""
        try:
            self.model.follow(read_plan(orjson.loads(request.body or b"{}")))
        except (ValueError, TypeError) as error:
            return error_answer(400, "bad_plan", str(error))
        return self.plan(request)

    def seen(self, request: Request) -> Answer:
        """Answer GET /control/seen, with `?totals=1` in short."""
        self.batches.move_all()
        return json_answer(self.model.seen.totals() if "totals" in request.query else self.model.seen.told())

    def reset(self, request: Request) -> Answer:
        """Answer POST /control/reset: forget all but the plan."""
        self.model.reset()
        self.files.stored.clear()
        self.batches.jobs.clear()
        return json_answer({})
