"""`rules check` and `rules test` catch what changes the meaning of a shipped rule."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pytest
from mutation import Mutant, mutants
from sonnx.translator.language.checker import check
from sonnx.translator.language.checker_ranges import anchor
from sonnx.translator.language.errors import RuleSyntaxError
from sonnx.translator.language.laws import check_example, operators_of
from sonnx.translator.language.parser import parse
from sonnx.translator.language.schemas import split
from sonnx.translator.language.syntax import Block, Rule, RuleFile
from sonnx.translator.rulebook import Rulebook

COUNT, SEED, SHARE = 350, 20240229, 0.97


def shipped() -> list[RuleFile]:
    """The rules that come with the package, examples included."""
    paths = sorted(path for path in Path(str(files("sonnx.rules"))).glob("*.rules"))
    return [parse(path.read_text("utf-8"), path.name) for path in paths]


def caught_by(mutant: Mutant, originals: Sequence[RuleFile]) -> str | None:
    """What notices a mutant: the parser, the checker or a law; None where it survives."""
    try:
        changed = parse(mutant.text, mutant.path)
    except RuleSyntaxError:
        return "parser"
    now = [changed if file.path == mutant.path else file for file in originals]
    touched = _touched(mutant, originals, now)
    errors = check([_reduced(now, touched)])
    if errors:
        return f"check: {errors[0].code}"
    rulebook = Rulebook([now])
    for file in now:
        for example in file.examples:
            if not operators_of(example) & touched:
                continue
            for failure in check_example(rulebook, example, numbers=False):
                if failure:
                    return f"law: {failure.law}"
    return None


def _touched(mutant: Mutant, *versions: Sequence[RuleFile]) -> set[str]:
    """The operators of the changed rule, before and after, on both sides."""
    names: set[str] = set()
    for files_ in versions:
        for file in files_:
            for rule in file.rules if file.path == mutant.path else ():
                if rule.span.line <= mutant.line <= rule.span.end_line:
                    names |= _operators(rule)
    return names


def _operators(rule: Rule) -> set[str]:
    names = {split(anchor(alternative))[1] for alternative in rule.alternatives}
    sides = [rule.side, *(alternative.side for alternative in rule.alternatives)]
    for side in sides:
        names |= {step.operator for step in side.steps} if isinstance(side, Block) else {side.operator}
    return names


def _reduced(files_: Sequence[RuleFile], touched: set[str]) -> list[RuleFile]:
    """The rules and examples that share an operator with the changed rule: what it can affect."""
    reduced = []
    for file in files_:
        rules = tuple(rule for rule in file.rules if _operators(rule) & touched)
        operators = set().union(*map(_operators, rules)) if rules else set()
        examples = tuple(
            example for example in file.examples if operators_of(example) & (operators | touched)
        )
        reduced.append(RuleFile(file.path, file.text, rules, examples))
    return reduced


@pytest.fixture(scope="module")
def originals() -> list[RuleFile]:
    return shipped()


def test_the_shipped_rules_are_right(originals):
    errors = check([originals])
    texts = {file.path: file.text for file in originals}
    assert not errors, "\n".join(error.render(texts) for error in errors)


def test_mutants_are_caught(originals):
    found = list(mutants(originals, COUNT, SEED))
    survivors = [mutant for mutant in found if caught_by(mutant, originals) is None]
    report = "\n".join(map(str, survivors))
    print(f"{len(found) - len(survivors)} of {len(found)} mutants caught; survivors:\n{report}")
    assert len(found) >= 300
    assert len(survivors) <= (1 - SHARE) * len(found), report
