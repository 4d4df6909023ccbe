"""What the table `annotation_tasks` promises."""

from expectations.columns import an_id, dialogue_id, user_id
from expectations.contract import Column, Contract, Rule

CONTRACT = Contract(
    about="a task for an annotator: a dialogue and the memories to review",
    columns=(
        an_id("task_id", "a", "The task; from its dialogue and memories.", unique=True),
        Column("rank", "INTEGER", unique=True, between=(1, None), about="Place of the sample in the selection."),
        dialogue_id(unique=True),
        user_id(),
        Column("memory_ids", "VARCHAR[]", about="The memories to review."),
    ),
    rules=(Rule("no task is empty", "select task_id from annotation_tasks where len(memory_ids) = 0"),),
)
