"""Counts ONNX's node tests that pass: ``python tests/onnx_backend/count.py``.

Prints what fails, with the reason it is left out of the suite for, and how many pass by the tests' own
tolerances: of those that use only the operators of Apache SINGA's documentation, and of all.
"""

from __future__ import annotations

import warnings

from cases import cases, failure
from excluded import reason, rounded
from rich.progress import track


def main() -> None:
    """Run every node test and print the counts."""
    warnings.simplefilter("ignore")
    found = cases()
    failures = {case.name: why for case in track(found, "node tests") if (why := failure(case))}
    for name, why in failures.items():
        expected = reason(name) or ("rounding of half precision" if rounded(name) else None)
        print(f"{name}: {expected or 'UNEXPECTED: ' + why}")
    singa = [case for case in found if case.of_singa]
    for title, group in (("of SINGA's operators", singa), ("in all", found)):
        passed = sum(case.name not in failures for case in group)
        print(f"{passed} of {len(group)} {title}")


if __name__ == "__main__":
    main()
