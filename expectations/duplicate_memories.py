"""What the table `duplicate_memories` promises."""

from expectations.pairs import pairs_contract

CONTRACT = pairs_contract("duplicate_memories", "m")
