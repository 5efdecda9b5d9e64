"""Elements in lists: what is known of them when several are put together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.blocks.payload import Rows

LISTS = st.lists(
    st.one_of(st.lists(st.integers()), st.lists(st.text()), st.lists(st.integers(), min_size=40)), min_size=1
)


@given(LISTS, st.data())
def test_joined_lists_have_all_elements_and_their_types(lists: list[list[object]], data: st.DataObject) -> None:
    rows = [Rows(elements) for elements in lists]
    for one in data.draw(st.sets(st.sampled_from(range(len(rows))))):
        assert rows[one].kinds == set(map(type, lists[one]))  # from here on it is known
    joined = Rows.joined(rows)
    assert joined.rows() == [element for elements in lists for element in elements]
    assert joined.kinds == {type(element) for elements in lists for element in elements}
    part = joined.subset(range(len(joined) // 2))
    assert part.kinds == set(map(type, part.rows())) or len(part) == 0
