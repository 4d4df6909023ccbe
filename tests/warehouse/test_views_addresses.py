"""What the view of shared addresses shows, of conversations that are drawn here and counted by hand."""

import pytest

from warehouse.publish import VIEWS

CONVERSATIONS = """
source_row | user_id | user_known::boolean | country | language | ended_at::timestamptz
-----------|---------|---------------------|---------|----------|-----------------------
r1         | ua      | true                | Peru    | English  | 2023-05-01 00:00:00+00
r2         | ua      | true                | Peru    | English  | 2023-05-02 00:00:00+00
r3         | ua      | true                | Peru    | English  | 2023-05-03 00:00:00+00
r4         | ub      | true                | Peru    | English  | 2023-05-01 00:00:00+00
r5         | ub      | true                | Chile   |          |
r6         | ub      | true                | Chile   |          |
r7         | uc      | true                |         |          |
r8         | ud      | false               | Peru    | English  | 2023-05-01 00:00:00+00
"""
DROPPED = """
stage         | item | reason
--------------|------|--------------
dialogues     | r6   | repeated_row
dialogues     | r1   | too_few_turns
conversations | r2   | repeated_row
"""

[SQL] = [one for one in VIEWS.read_text().split(";\n") if "view shared_addresses as" in one]


@pytest.fixture
def addresses(given):
    def rows(**tables):
        db = given(conversations=CONVERSATIONS)
        for name, drawing in tables.items():
            db.execute(f"drop table {name}")
            given(**{name: drawing})
        db.execute(SQL)
        return db.execute("select user_id, conversations, countries, languages from shared_addresses").fetchall()

    return rows


def test_the_most_suspicious_address_comes_first_and_repeated_rows_count_once(addresses):
    # ub 2 * 2 * 1, ua 3 * 1 * 1, uc 1; an unknown user is no address
    assert addresses(dropped=DROPPED) == [("ub", 2, 2, 1), ("ua", 3, 1, 1), ("uc", 1, 0, 0)]


def test_before_dialogues_are_built_every_row_counts(addresses):
    assert addresses() == [("ub", 3, 2, 1), ("ua", 3, 1, 1), ("uc", 1, 0, 0)]
