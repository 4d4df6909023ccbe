"""Columns that several tables share, and the types of what is nested in them."""

from expectations.contract import Column
from stages.taxonomy import CONFIDENCES, CONTEXTS, LABELS, REJECTED, TYPES, UNMAPPED

MESSAGES = 'STRUCT("role" VARCHAR, "text" VARCHAR)[]'
MEMORIES = (
    'STRUCT(memory_id VARCHAR, "type" VARCHAR, "label" VARCHAR, "value" VARCHAR, confidence DOUBLE, '
    "evidence_text VARCHAR)[]"
)
SPLITS = ("examples", "dev", "validation", "test")
KINDS = ("extraction", "update", "retrieval", "PA", "PF_general", "PF_interaction", "VRA", "CF", "EI")
CERTAIN = tuple(one for one in CONFIDENCES if one != REJECTED)


def an_id(name: str, letter: str, about: str, *, unique: bool = False, null: bool = False) -> Column:
    """Return a column of ids of one kind: a letter and 16 hexadecimal digits."""
    return Column(name, unique=unique, null=null, pattern=f"{letter}[0-9a-f]{{16}}", about=about)


def dialogue_id(*, unique: bool = False) -> Column:
    """Return the column that names a dialogue."""
    return an_id("dialogue_id", "d", "The dialogue; from hash, user, time and model.", unique=unique)


def user_id(*, unique: bool = False) -> Column:
    """Return the column that names a user."""
    return an_id("user_id", "u", "The user; from the source's and the home's secret.", unique=unique)


def memory_id(*, unique: bool = False, null: bool = False) -> Column:
    """Return the column that names a memory."""
    return an_id("memory_id", "m", "The memory; from user, dialogue, label and value.", unique=unique, null=null)


def target_id(*, unique: bool = False) -> Column:
    """Return the column that names a target."""
    return an_id("target_id", "t", "The target; from its kind and its memory or dialogue.", unique=unique)


def item_id(*, unique: bool = False) -> Column:
    """Return the column that names an item."""
    return an_id("item_id", "i", "The item; from its task and target.", unique=unique)


def language() -> Column:
    """Return the column of a dialogue's language."""
    return Column("language", about="English name of the language, the source's or a detected one.", null=True)


def split() -> Column:
    """Return the column of a split."""
    return Column("split", values=SPLITS, about="The split that the user's group was drawn into.")


# What a memory is, wherever one stands in a row of its own.
MEMORY = (
    Column("type", values=TYPES, about="Said by the user (direct), or implied (indirect)."),
    Column("label", values=(*LABELS, UNMAPPED), about="One of the 34 labels, or UNMAPPED."),
    Column("label_suggestion", null=True, about="Domain/Aspect/Detail for what is UNMAPPED."),
    Column("value", about="The statement about the user."),
    Column("confidence", "DOUBLE", values=CERTAIN, about="0.95 sure and lasting, down to 0.50 weak."),
    Column("evidence_text", about="The user's words that it rests on, as they stand in the dialogue."),
    Column("evidence_message", "INTEGER", between=(0, None), about="Index of the message, from 0 over all."),
    Column("evidence_start", "INTEGER", between=(0, None), about="First character in the message, from 0."),
    Column("evidence_end", "INTEGER", between=(1, None), about="Character after the last."),
    Column("emotion", null=True, about="What the user feels about it, as one English word."),
    Column(
        "time_scope",
        values=("long_term", "short_term", "recent", "past", "unknown"),
        about="How long it holds.",
    ),
    Column("preference_attitude", null=True, values=("like", "dislike"), about="For a preference, which way."),
    Column("extractor", about="The model that found it."),
)
CONTEXT = Column("context", values=CONTEXTS, about="Whether it is about the user, or only looks so.")
