"""Finds texts that are nearly the same: MinHash for candidates, exact Jaccard for the verdict."""

from stages.near_duplicates.finding import Listed, Texts, near_duplicates
from stages.near_duplicates.pairs import pairs_table
from stages.near_duplicates.shingles import jaccard, shingles_of
from stages.near_duplicates.stored import Stored

__all__ = ["Listed", "Stored", "Texts", "jaccard", "near_duplicates", "pairs_table", "shingles_of"]
