"""The columns of the three published forms of WildChat, in their order."""

import pyarrow as pa

HEADER = pa.struct([("accept-language", pa.string()), ("user-agent", pa.string())])
CATEGORIES = (
    "harassment", "harassment/threatening", "hate", "hate/threatening", "self-harm", "self-harm/instructions",
    "self-harm/intent", "sexual", "sexual/minors", "violence", "violence/graphic",
)  # fmt: skip
ILLICIT = ("illicit", "illicit/violent")
TOXICITIES = ("identity_attack", "insult", "obscene", "severe_toxicity", "sexual_explicit", "threat", "toxicity")
USAGE = pa.struct(
    [
        ("completion_tokens", pa.int64()),
        (
            "completion_tokens_details",
            pa.struct(
                (f"{kind}_tokens", pa.int64())
                for kind in ("reasoning", "text", "audio", "accepted_prediction", "rejected_prediction")
            ),
        ),
        ("prompt_tokens", pa.int64()),
        ("total_tokens", pa.int64()),
        ("prompt_tokens_details", pa.struct([("cached_tokens", pa.int64()), ("audio_tokens", pa.int64())])),
    ]
)
DETOXIFY = pa.struct((name, pa.float64()) for name in TOXICITIES)


def moderation(names: tuple[str, ...]) -> pa.DataType:
    """Return the type of a verdict on one message."""
    booleans, scores = (pa.struct((name, type) for name in names) for type in (pa.bool_(), pa.float64()))
    return pa.struct([("categories", booleans), ("category_scores", scores), ("flagged", pa.bool_())])


def with_twins(names: tuple[str, ...]) -> tuple[str, ...]:
    """Add to each name its twin in underscores, as the later forms have both."""
    return tuple(sorted({*names, *(name.replace("-", "_").replace("/", "_") for name in names)}))


def schema(key: str, message: str, time: pa.DataType, verdict: pa.DataType, end: str) -> pa.Schema:
    """Return the schema of a form from the names of its key, of the fields of a message, and of its last columns."""
    types = {
        "created": pa.int64(), "header": HEADER, "redacted": pa.bool_(), "temperature": pa.float64(),
        "timestamp": time, "token_counter": pa.int64(), "top_p": pa.float64(), "toxic": pa.bool_(),
        "turn_identifier": pa.int64(), "usage": USAGE,
    }  # fmt: skip
    fields = pa.struct((name, types.get(name, pa.string())) for name in message.split())
    return pa.schema(
        [
            (key, pa.string()),
            ("model", pa.string()),
            ("timestamp", time),
            ("conversation", pa.list_(fields)),
            ("turn", pa.int64()),
            ("language", pa.string()),
            ("openai_moderation", pa.list_(verdict)),
            ("detoxify_moderation", pa.list_(DETOXIFY)),
            ("toxic", pa.bool_()),
            ("redacted", pa.bool_()),
            *((name, types.get(name, pa.string())) for name in end.split()),
        ]
    )


END = "state country hashed_ip header"
SCHEMAS = {
    "v1": schema(
        "conversation_id",
        "content language redacted role toxic",
        pa.timestamp("ms", tz="UTC"),
        moderation(CATEGORIES),
        "",
    ),
    "1m": schema(
        "conversation_hash",
        "content country hashed_ip header language redacted role state timestamp toxic turn_identifier",
        pa.timestamp("us", tz="UTC"),
        moderation(with_twins(CATEGORIES)),
        END,
    ),
    "4.8m": schema(
        "conversation_hash",
        "content created header hashed_ip country toxic redacted state language openai_id role temperature timestamp "
        "token_counter top_p turn_identifier system_fingerprint usage",
        pa.timestamp("us"),
        moderation(with_twins(CATEGORIES + ILLICIT)),
        END,
    ),
}
