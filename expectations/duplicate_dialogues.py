"""What the table `duplicate_dialogues` promises."""

from expectations.pairs import pairs_contract

CONTRACT = pairs_contract("duplicate_dialogues", "d")
