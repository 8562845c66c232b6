"""Rules by name across files and layers: one of a name in a layer, and replaced only by `override`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .errors import Diagnostic, diagnostic, near
from .syntax import Rule, RuleFile


def check_layers(layers: Sequence[Sequence[RuleFile]]) -> Iterator[Diagnostic]:
    """Duplicates within a layer, collisions and overrides of nothing between them."""
    earlier: dict[str, Rule] = {}
    for layer in layers:
        own: dict[str, Rule] = {}
        for rule in (rule for file in layer for rule in file.rules):
            if rule.name in own:
                related = (("the other rule", own[rule.name].span),)
                yield diagnostic("duplicate-rule", rule.span, related=related, rule=rule.name)
                continue
            own[rule.name] = rule
            if rule.name in earlier and not rule.override:
                related = (("the earlier rule", earlier[rule.name].span),)
                hint = f"write 'override {rule.kind} {rule.name}' to replace it"
                yield diagnostic("collision", rule.span, hint=hint, related=related, rule=rule.name)
            elif rule.override and rule.name not in earlier:
                yield diagnostic("override-nothing", rule.span, hint=near(rule.name, earlier), rule=rule.name)
        earlier |= own


def merged(layers: Sequence[Sequence[RuleFile]]) -> list[Rule]:
    """The rules in force: the last layer's rule of each name, later layers first."""
    rules: dict[str, Rule] = {}
    for layer in reversed(layers):
        for rule in (rule for file in layer for rule in file.rules):
            rules.setdefault(rule.name, rule)
    return list(rules.values())
