"""What the rules read: the user's messages, cut into sentences that stay verbatim."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

HEAD_CHARACTERS, TAIL_CHARACTERS = 2000, 500
SENTENCE_CHARACTERS = 300
MESSAGES_READ = 120

_SENTENCE = re.compile(r"[^\n。！？；]+[。！？；]?")
_STOP = re.compile(r"(?<=[.!?;][\"”'’)])\s+(?=\S)|(?<=[.!?;])\s+(?=\S)|(?<=[:：])\s*(?=[\"“「『«])")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
# One character for one, so that a match on the plain text has the same span in the verbatim one.
_TRADITIONAL = (
    "歡個養車學習開歲無過買讀書聽們電腦貓兒媽愛討厭請別從時來會說點簡詳細釋對覺擔難緊"
    "張壓孫爺醫師護職業題話記錄長樂運動飯麵騎爾遠灣國區給寫減賣設計實現參訂準備專畢論"
)
_SIMPLIFIED = (
    "欢个养车学习开岁无过买读书听们电脑猫儿妈爱讨厌请别从时来会说点简详细释对觉担难紧"
    "张压孙爷医师护职业题话记录长乐运动饭面骑尔远湾国区给写减卖设计实现参订准备专毕论"
)
_STRAIGHT = str.maketrans("’‘“”\u00a0\t" + _TRADITIONAL, "''\"\"  " + _SIMPLIFIED)


@dataclass(frozen=True)
class Sentence:
    """A sentence of a user message: its text, verbatim, and the same with straight quotes to match on."""

    text: str
    plain: str


def user_texts(dialogue: list[Mapping[str, Any]]) -> list[str]:
    """Return the texts of the user's messages in order; what is not text counts as empty."""
    turns = [turn for turn in dialogue if turn.get("role") == "user"][:MESSAGES_READ]
    return [text if isinstance(text := turn.get("text"), str) else "" for turn in turns]


def sentences(texts: list[str]) -> Iterator[Sentence]:
    """Cut each message's head and tail into sentences; code blocks and repeats are left out."""
    seen: set[str] = set()
    for text in texts:
        for part in prose(text):
            for piece in _pieces(part):
                if piece not in seen:
                    seen.add(piece)
                    yield Sentence(piece, piece.translate(_STRAIGHT))


def prose(text: str) -> list[str]:
    """Return the verbatim parts of a message outside code blocks, no longer than the rules read."""
    head, tail = text[:HEAD_CHARACTERS], text[HEAD_CHARACTERS:][-TAIL_CHARACTERS:]
    parts = [part for window in (head, tail) for part in _CODE.split(window)]
    return [part for part in parts if part.strip()]


def _pieces(text: str) -> Iterator[str]:
    for line in _SENTENCE.findall(text):
        for piece in _STOP.split(line):
            trimmed = piece.strip()[:SENTENCE_CHARACTERS].strip()
            if trimmed:
                yield trimmed
