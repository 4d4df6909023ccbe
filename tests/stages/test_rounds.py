from dataclasses import dataclass

from pydantic import BaseModel

from llm.gateway import Prompt, Reply, Request, Terms
from llm.tokens import expected_tokens
from stages.rounds import ask_in_rounds, part_of, room_beside

PROMPT = Prompt("add", "Add the numbers up.")


class Total(BaseModel):
    total: int


@dataclass(frozen=True)
class Sum:
    numbers: tuple[int, ...]

    @property
    def request(self):
        return Request("s", {"numbers": self.numbers})


def halves(part, status):
    middle = len(part.numbers) // 2
    return [Sum(part.numbers[:middle]), Sum(part.numbers[middle:])] if status == "truncated" and middle else []


def adder(most):
    """A model that adds at most so many numbers, and none that are negative."""

    def add(shown):
        numbers = shown["numbers"]
        if min(numbers) < 0:
            return Reply("refused")
        return {"total": sum(numbers)} if len(numbers) <= most else Reply("truncated")

    return add


def test_parts_come_back_in_order_however_often_they_were_split(model_says):
    model = model_says(adder(2))
    dialogues = [[Sum((1, 2, 3, 4, 5))], [], [Sum((6,)), Sum((7, 8, 9))]]

    answered = ask_in_rounds(model, PROMPT, Total, dialogues, halves)

    assert [[part.numbers for part, _ in parts] for parts in answered] == [
        *([(1, 2), (3,), (4, 5)], [], [(6,), (7,), (8, 9)]),
    ]
    assert [[outcome.answer for _, outcome in parts] for parts in answered] == [
        *([Total(total=3), Total(total=3), Total(total=9)], [], [Total(total=6), Total(total=7), Total(total=17)]),
    ]
    assert [len(request.input["numbers"]) for request in model.provider.requests] == [5, 1, 3, 2, 3, 1, 2, 1, 2]


def test_a_part_that_cannot_be_split_or_has_another_end_is_settled_with_it(model_says):
    answered = ask_in_rounds(model_says(adder(0)), PROMPT, Total, [[Sum((1, 2)), Sum((-1, 2))]], halves)

    assert [(part.numbers, outcome.status) for part, outcome in answered[0]] == [
        *(((1,), "truncated"), ((2,), "truncated"), ((-1, 2), "refused")),
    ]


def test_nothing_is_asked_where_there_is_nothing_to_ask(model_says):
    model = model_says(adder(1))

    assert ask_in_rounds(model, PROMPT, Total, [], halves) == []
    assert ask_in_rounds(model, PROMPT, Total, [[]], halves) == [[]]
    assert model.provider.requests == []


def test_a_model_without_limit_has_room_for_anything_and_another_what_the_prompt_leaves(model_says):
    model = model_says(adder(1))
    assert room_beside(model, PROMPT, Total, {}) is None

    model.provider.terms = Terms(input_tokens=1000)
    room, less = (room_beside(model, PROMPT, Total, {"numbers": [], "more": more}) for more in ("", "x" * 400))

    assert room is not None
    assert less is not None
    assert 800 < room < 1000 - expected_tokens(PROMPT.text)
    assert room - less == 400 / 4


def test_a_detail_names_the_part_where_there_are_several():
    assert part_of(1, 1, None) is None
    assert part_of(1, 1, "why") == "why"
    assert part_of(2, 3, None) == "part 2 of 3"
    assert part_of(2, 3, "why") == "part 2 of 3: why"
