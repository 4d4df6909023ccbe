"""Datasets of the Hugging Face hub as sources: pinned to a commit, and downloaded into the hub's ordinary cache."""

import os

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # the hub's client reads it when it is imported
