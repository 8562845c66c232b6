"""The two laws of every lens, by property, over what each says its domain is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from sonnx.runtime.graph import Ref
from sonnx.translator.language.lenses import LENSES
from sonnx.translator.language.values import Mismatch

INTS = st.lists(st.integers(-9, 9), max_size=6).map(tuple)
CODES = [c for c in range(1, 27) if c not in (8, 14, 15)]
NAMES = ("NOTSET", "SAME_UPPER", "VALID")
HALVES = st.integers(0, 4).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-9, 9), min_size=n, max_size=n).map(tuple)] * 2)
)

SOURCES = {
    "dtype": st.sampled_from(CODES).map(lambda code: (code,)),
    "type_name": st.sampled_from(CODES).map(lambda code: (TensorProto.DataType.Name(code),)),
    "flag": st.sampled_from([0, 1]).map(lambda number: (number,)),
    "single": st.integers().map(lambda item: ((item,),)),
    "concat": HALVES,
    "reverse": INTS.map(lambda items: (items,)),
    "split_pads": HALVES.map(lambda halves: (halves[0] + halves[1],)),
    "or_else": st.one_of(st.none(), st.integers(-9, 9).filter(lambda v: v != 5)).map(lambda v: (v,)),
    "choice": st.sampled_from(NAMES).map(lambda name: (name,)),
    "even_parts": st.integers(1, 12).map(lambda count: (count,)),
    "full_pads": st.lists(st.integers(-9, 9), min_size=6, max_size=6).map(lambda pads: (tuple(pads),)),
    "along": st.tuples(st.integers(2, 9), st.integers(0, 2)),
}
CONTEXT = {"or_else": (5,), "choice": (NAMES,), "even_parts": (10,), "full_pads": (3,), "along": (3,)}


def test_every_lens_has_a_domain_here():
    assert SOURCES.keys() == LENSES.keys()


@pytest.mark.parametrize("name", sorted(SOURCES))
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_put_gives_back_what_get_read(name, data):
    lens, sources, context = LENSES[name], data.draw(SOURCES[name]), CONTEXT.get(name, ())
    targets = lens.get(*sources, *context)
    assert len(targets) == lens.targets
    assert lens.put(*targets, *context) == sources


@pytest.mark.parametrize("name", sorted(SOURCES))
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_get_reads_what_put_wrote(name, data):
    lens, sources, context = LENSES[name], data.draw(SOURCES[name]), CONTEXT.get(name, ())
    targets = lens.get(*sources, *context)
    assert lens.get(*lens.put(*targets, *context), *context) == targets


@pytest.mark.parametrize("name", sorted(set(LENSES) - {"or_else"}))
def test_what_is_absent_stays_absent(name):
    lens, context = LENSES[name], CONTEXT.get(name, ())
    targets = lens.get(*[None] * lens.sources, *context)
    assert set(targets) == {None}
    assert set(lens.put(*targets, *context)) == {None}


@pytest.mark.parametrize("name", sorted(LENSES))
def test_a_lens_says_what_it_is(name):
    assert LENSES[name].documentation.startswith("``")


def test_split_pads_keeps_what_both_ends_have_in_common():
    assert LENSES["split_pads"].get((1, 2, 3, 2)) == ((1, 2), (0, 2, 0, 0))
    assert LENSES["split_pads"].put((1, 1), (0, 1, 1, 0)) == ((1, 2, 2, 1),)


def test_full_pads_spreads_the_pads_of_some_axes():
    assert LENSES["full_pads"].put((1, 2, 3, 4), (-1, 0), 3) == ((2, 0, 1, 4, 0, 3),)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("dtype", (8,)),
        ("dtype", (99,)),
        ("flag", (2,)),
        ("single", ((1, 2),)),
        ("concat", ((1,), (1, 2))),
        ("split_pads", ((1, 2, 3),)),
        ("choice", ("AVERAGE", NAMES)),
    ],
)
def test_outside_its_domain_a_lens_says_why(name, arguments):
    with pytest.raises(Mismatch, match=r"\w"):
        LENSES[name].get(*arguments)


def test_dtype_is_onnx_s_own_numbering():
    for code in CODES:
        assert LENSES["dtype"].get(code) == (np.dtype(helper.tensor_dtype_to_np_dtype(code)),)


def test_only_a_lens_that_says_so_lets_a_computed_value_pass():
    assert {name for name, lens in LENSES.items() if lens.refs} == {"flag", "single", "or_else"}
    assert LENSES["single"].get(Ref("k")) == (Ref("k"),)
