from stages.checks import Candidate, Check, smaller_checks
from stages.evidence import locate
from stages.windows import Piece

TEXT = "I moved to Porto in spring. " * 8


def row(number, evidence):
    return {"number": number, "evidence_text": evidence, "value": "v", "type": "direct", "label": "l"} | {
        "label_suggestion": None,
        "confidence": 0.8,
    }


def test_a_candidate_is_checked_in_the_window_that_holds_most_of_its_evidence():
    said = TEXT + "My sister Ana paints boats." + TEXT
    turns = [{"role": "user", "text": said}, {"role": "assistant", "text": TEXT}]
    evidence = "My sister Ana paints boats."
    candidate = Candidate(row(0, evidence), locate(evidence, turns))
    cut = said.index(evidence) + 3  # the first piece holds its first letters only
    pieces = [Piece(0, "user", said[:cut]), Piece(0, "user", said[cut:], cut)]
    window = (*pieces, Piece(1, "assistant", TEXT))

    checks = smaller_checks(Check("s", "English", window, (candidate,)), "too_long")

    [check] = checks
    assert [piece.text for piece in check.window if evidence[3:] in piece.text]
    assert check.candidates == (candidate,)
