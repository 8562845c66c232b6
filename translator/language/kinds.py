"""The closed list of what can be wrong with rules: a row for each kind of error."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ErrorKind:
    """``message`` is a format string; ``meaning`` explains it and says what to do."""

    message: str
    meaning: str


KINDS: dict[str, ErrorKind] = {
    # --- the text
    "syntax": ErrorKind(
        "unexpected {found}",
        "The text is not of the language here. `expected` lists what may stand in this place.",
    ),
    "not-text": ErrorKind(
        "the file is not UTF-8 text ({reason})",
        "Rule files are UTF-8.",
    ),
    "empty-range": ErrorKind(
        "the opset range {range} is empty",
        "The last version of a range may not be below its first, and versions count from 1.",
    ),
    "example-side": ErrorKind(
        "the example has no `{side}` line",
        "An example shows the nodes of both sides: at least one `onnx` and one `singa` line.",
    ),
    "repeated-item": ErrorKind(
        "`{item}` is given twice",
        "A rule has one `prefer`, an example one `opset` and one `producer`; a side declares each of"
        " its inputs, attributes and outputs once.",
    ),
    "given-value": ErrorKind(
        "the value of {name!r} is not a number, a string or a list of them",
        "`given x int64[2] = [0, 1]` fixes the content of a tensor by literals.",
    ),
    # --- the operators
    "unknown-onnx-operator": ErrorKind(
        "ONNX has no operator {operator!r}",
        "No schema of the installed onnx has this name. An operator of another domain is written"
        " `domain::Name`.",
    ),
    "unknown-singa-operator": ErrorKind(
        "the runtime has no operator {operator!r}",
        "The SINGA side may use only operators that `sonnx.runtime.operators` registers.",
    ),
    "no-such-version": ErrorKind(
        "{operator} does not exist at opset {range}",
        "The alternative claims versions from before the operator was introduced.",
    ),
    "deprecated": ErrorKind(
        "{operator} is deprecated at opset {range}",
        "ONNX took the operator back: no valid model uses it there. End the range before.",
    ),
    # --- inputs and outputs
    "too-many-inputs": ErrorKind(
        "{owner} has {count}, and this side has more",
        "Inputs are positional; the side may not have more of them than the operator.",
    ),
    "missing-input": ErrorKind(
        "input {name!r} of {owner} is not listed",
        "A signature lists every input of its operator, so that none is dropped in silence; a step"
        " lists every input that is not optional. To refuse an optional input, list it and"
        ' `require NAME == none "why"`.',
    ),
    "absent-input": ErrorKind(
        "input {name!r} of {owner} may not be absent",
        "`-` stands for an absent input, which only an optional one can be.",
    ),
    "input-mark": ErrorKind(
        "input {name!r} of {owner} is {formal}",
        "`b?` is an optional input, `xs...` a variadic one, and plain `x` is required. The mark must"
        ' be the schema\'s; to demand an optional input, `require NAME != none "why"`.',
    ),
    "misplaced-role": ErrorKind(
        "`{role}` has no meaning on the SINGA side",
        "`const` says that an ONNX input is an attribute of the SINGA operator.",
    ),
    "const-without-attribute": ErrorKind(
        "no attribute on the SINGA side takes the constant {name!r}",
        "`const NAME` is an ONNX input that is an attribute of the SINGA operator: list the"
        " attribute there, or bind it with `where`.",
    ),
    "too-many-outputs": ErrorKind(
        "{owner} has {count}, and this side has more",
        "Outputs are positional; the side may not have more of them than the operator.",
    ),
    "missing-output": ErrorKind(
        "output {name!r} of {owner} is not listed",
        "A signature lists every output of its operator; one without a meaning on the other side is"
        ' refused with `ignore NAME "why"`.',
    ),
    "output-mark": ErrorKind(
        "output {name!r} of {owner} is {formal}",
        "`mask?` is an optional output, `ys...` a variadic one, and plain `y` is always there.",
    ),
    # --- attributes
    "unknown-attribute": ErrorKind(
        "{owner} has no attribute {name!r}",
        "The name is not an attribute of the operator in these versions. Split the alternative where"
        " an attribute comes or goes.",
    ),
    "missing-attribute": ErrorKind(
        "attribute {name!r} of {owner} is not listed",
        "A signature lists every attribute of its operator, so that none is dropped in silence; a"
        " step sets every attribute that has no default. An attribute without a meaning here is"
        ' left out with `ignore NAME "why"`.',
    ),
    "missing-default": ErrorKind(
        "attribute {name!r} of {owner} has the default {default}, which is not written here",
        "Without it, the alternative would not match a node that leaves the attribute out.",
    ),
    "wrong-default": ErrorKind(
        "the default of {name!r} is {default} in {owner}, not {written}",
        "A default is the schema's own in each version of the range. Split the range where the"
        " default changes.",
    ),
    "attribute-mark": ErrorKind(
        "attribute {name!r} of {owner} is {formal}",
        "`axis` is a required attribute, `axis?` one that may be absent, `axis = 1` has a default.",
    ),
    "wrong-type": ErrorKind(
        "{name!r} of {owner} takes {type}, not {value}",
        "The literal is not of the attribute's type.",
    ),
    "default-not-constant": ErrorKind(
        "the default of {name!r} is no constant",
        "A default is a literal, or arithmetic on literals.",
    ),
    "unknown-ignore": ErrorKind(
        "{operator} has no attribute and no output {name!r} at opset {range}",
        "`ignore` names an ONNX attribute or output that has no meaning on the SINGA side.",
    ),
    "bare-side": ErrorKind(
        "{operator} is written without its inputs, and the other side with them",
        "`renamed ReLU <-> Relu` says that everything but the name is equal: both sides are bare, or"
        " neither is.",
    ),
    "not-only-renamed": ErrorKind(
        "{operator} and {other} differ in more than their name: {difference}",
        "Without a list of inputs and attributes, both sides must have the same ones, with the same"
        " defaults, in every version of the range.",
    ),
    # --- names and bindings
    "unbound-name": ErrorKind(
        "{name!r} has no value",
        "The name is used, and no side of the alternative and no `where` gives it a value.",
    ),
    "unused-name": ErrorKind(
        "{name!r} is bound and never used",
        "The name appears once in the alternative, so its value would be lost. Equal names on both"
        " sides are one variable: name it on the other side, bind it with `where`, or refuse other"
        ' values with `require NAME == VALUE "why"`.',
    ),
    "unknown-function": ErrorKind(
        "there is no lens or condition {name!r}",
        "`where` calls lenses, `require` conditions; docs/language.md lists both.",
    ),
    "argument-count": ErrorKind(
        "{name} takes {wanted}, not {count}",
        "A lens has as many arguments as its sources and its context together.",
    ),
    "target-count": ErrorKind(
        "{name} gives {wanted}, not {count}",
        "As many names stand before `=` as the lens has targets.",
    ),
    "not-invertible": ErrorKind(
        "{reason}",
        "A `<->` alternative must compute each side from the other. Arithmetic is inverted where the"
        " unknown appears once; a lens is inverted by its `put`. What works one way only is written"
        " as two alternatives, `->` and `<-`.",
    ),
    "reason-missing": ErrorKind(
        "a one-way arrow needs a reason",
        'What translates one way only says why, after its side: `-> Add(x, b) "why"`.',
    ),
    "kind-mismatch": ErrorKind(
        "a rule of kind {kind} {contract}",
        "The kind of a rule says what differs between the two sides.",
    ),
    # --- versions
    "version-hole": ErrorKind(
        "no rule imports {operator} at opset {range}",
        "A version between those that are claimed would fall to no rule.",
    ),
    "version-unclaimed": ErrorKind(
        "no rule imports {operator} at opset {range}, which is newer than any claim",
        "ONNX has versions that the last alternative does not claim: look at what changed, then widen"
        " the range or add an alternative.",
    ),
    "export-hole": ErrorKind(
        "{rule} is not exported at opset {range}",
        "Between the versions that a rule exports to, and up to the newest, there may be no hole.",
    ),
    "producer-only": ErrorKind(
        "an alternative for files of one producer is import only",
        "`producer` says who wrote a file; on export there is none. Use `<-`.",
    ),
    # --- several rules
    "duplicate-rule": ErrorKind(
        "{rule} has a rule already",
        "One layer has one rule of a name; further meanings are further alternatives.",
    ),
    "collision": ErrorKind(
        "{rule} is a rule of an earlier layer already",
        "A rule that replaces one of an earlier layer says `override`.",
    ),
    "override-nothing": ErrorKind(
        "{rule} overrides nothing",
        "No earlier layer has a rule of this name.",
    ),
    "ambiguous": ErrorKind(
        "{rule} and {other} both import {witness}",
        "Two rules match the same node and nothing orders them. Say `prefer` in one of them, narrow"
        " one with `require`, or make one of them `->`.",
    ),
    "shadowed": ErrorKind(
        "this alternative is never reached: {witness} is taken by an earlier one",
        "Alternatives are tried in order; everything this one matches, an earlier one matches.",
    ),
    "endless-chain": ErrorKind(
        "a round trip never ends: {chain}",
        "Exporting what was imported gives an operator that is imported as several again, so the"
        " graph grows with every round trip.",
    ),
    # --- examples
    "unknown-dtype": ErrorKind(
        "{dtype!r} is no element type",
        "Types have numpy's names: float32, int64, bool, bfloat16, string.",
    ),
    "example-name": ErrorKind(
        "{name!r} is not given",
        "Every tensor that the nodes of an example read is declared with `given`.",
    ),
    "example-unused": ErrorKind(
        "{name!r} is given and no node reads it",
        "A tensor that an example declares appears on its ONNX side and on its SINGA side.",
    ),
    "example-outputs": ErrorKind(
        "the sides have different results: {onnx} and {singa}",
        "Both sides of an example compute the same values under the same names.",
    ),
    "example-unmatched": ErrorKind(
        "no rule {verb} this example at opset {range}: {reason}",
        "The example must be an instance of some alternative.",
    ),
    "no-example": ErrorKind(
        "no example exercises this alternative",
        "Every alternative has an example, which is its test in both directions.",
    ),
    "attribute-not-exercised": ErrorKind(
        "no example of this alternative has {name!r} at another value than its default",
        "An attribute that no example sets could be mapped wrongly without a test failing.",
    ),
    "not-told-apart": ErrorKind(
        "no example of this alternative tells {name!r} from {other!r}",
        "Two attributes that have equal values in every example could be exchanged without a test failing.",
    ),
    "input-not-exercised": ErrorKind(
        "no example of this alternative has the input {name!r} {state}",
        "An optional input is shown both present and absent.",
    ),
}
