"""An AttributeError names what was meant: a near name, or what another library's name is called here."""

from __future__ import annotations

import abc
import copy
import pickle
import pkgutil
import re
import subprocess
import sys
from collections.abc import Mapping

import cloudpickle
import pytest

import headrace as hr
from headrace.near_names import FOR_DATASETS, FOR_THE_PACKAGE

DATASET = hr.Dataset.range(5).batch(2)


def said(owner: object, name: str) -> str:
    with pytest.raises(AttributeError) as caught:
        getattr(owner, name)
    return str(caught.value)


@pytest.mark.parametrize(
    ("owner", "name", "message"),
    [
        (DATASET, "shufle", "'Dataset' object has no attribute 'shufle'. Did you mean: 'shuffle'?"),
        (
            DATASET,
            "mix",
            "'Dataset' object has no attribute 'mix'. Here it is written: hr.Dataset.sample_from_datasets(",
        ),
        (DATASET, "state_dict", "'Dataset' object has no attribute 'state_dict'. Did you mean: 'iter(ds).state_dict'?"),
        (hr.TextLineDataset("a"), "bach", "'TextLineDataset' object has no attribute 'bach'. Did you mean: 'batch'?"),
        (hr.Dataset, "rnge", "type object 'Dataset' has no attribute 'rnge'. Did you mean: 'range'?"),
        (hr, "CSVDataset", "module 'headrace' has no attribute 'CSVDataset'. Did you mean: 'CsvDataset'?"),
        (hr, "FIFOQueue", "module 'headrace' has no attribute 'FIFOQueue'. Did you mean: 'hr.queue.FIFOQueue'?"),
        (hr, "zip", "module 'headrace' has no attribute 'zip'. Did you mean: 'hr.Dataset.zip'?"),
        (
            hr,
            "TensorDataset",
            "module 'headrace' has no attribute 'TensorDataset'. Here it is written: hr.Dataset.from_",
        ),
    ],
)
def test_a_name_that_is_not_there_leads_to_the_one_that_was_meant(owner: object, name: str, message: str) -> None:
    assert said(owner, name).startswith(message)


@pytest.mark.parametrize("owner", [DATASET, hr.Dataset, hr])
def test_a_name_like_no_other_is_said_to_be_missing_and_no_more(owner: object) -> None:
    assert said(owner, "banana").endswith("has no attribute 'banana'")


@pytest.mark.parametrize("owner", [DATASET, hr.Dataset, hr])
@pytest.mark.parametrize("name", ["_repr_mimebundle_", "_ipython_canary_method_should_not_exist_", "__shufle__"])
def test_what_notebooks_and_protocols_ask_for_is_refused_without_advice(owner: object, name: str) -> None:
    assert not hasattr(owner, name)
    assert said(owner, name).endswith(f"has no attribute {name!r}")


@pytest.mark.parametrize("owner", ["hr", "hr.Dataset", "hr.Dataset.range(1)"])
def test_who_asks_whether_a_name_is_there_imports_nothing_and_looks_for_nothing(owner: str) -> None:
    code = (
        "import sys, headrace as hr\n"
        f"owner, before = {owner}, set(sys.modules)\n"
        "print(hasattr(owner, 'shufle'), *sys.modules.keys() - before - {'headrace.near_names'})"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.split() == ["False"]


@pytest.mark.parametrize("program", ["ds.shufle(2)", "hr.Dataset.from_generater", "hr.Datset", "iter(ds).stat()"])
def test_a_traceback_suggests_one_name_once(program: str) -> None:
    code = f"import headrace as hr; ds = hr.Dataset.range(3); {program}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.stderr.count("Did you mean") == 1, result.stderr


def test_the_error_can_be_pickled() -> None:
    with pytest.raises(AttributeError) as caught:
        DATASET.shufle  # type: ignore[attr-defined]  # noqa: B018 - the mistake
    for error in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert str(error) == str(caught.value)
    assert "Did you mean: 'shuffle'?" in repr(caught.value)


def test_a_dataset_is_pickled_and_copied_as_before() -> None:
    for other in (
        pickle.loads(pickle.dumps(DATASET)),
        pickle.loads(cloudpickle.dumps(DATASET)),
        copy.copy(DATASET),
        copy.deepcopy(DATASET),
    ):
        assert [batch.tolist() for batch in other] == [[0, 1], [2, 3], [4]]


def test_an_attribute_error_inside_a_property_is_not_taken_for_a_missing_name() -> None:
    class Asked(hr.Dataset):
        @property
        def broken(self) -> int:
            raise AttributeError("its own reason")

    assert said(Asked(DATASET.__headrace_plan__()), "broken") == "its own reason"


def test_a_dataset_may_also_be_of_a_class_that_is_abstract() -> None:
    class Both(hr.Dataset, abc.ABC):
        pass

    assert isinstance(Both(DATASET.__headrace_plan__()), hr.Dataset)


@pytest.mark.parametrize("table", [FOR_DATASETS, FOR_THE_PACKAGE])
def test_the_advice_is_about_names_that_are_not_here_and_gives_names_that_are(table: Mapping[str, str]) -> None:
    owner = hr.Dataset if table is FOR_DATASETS else hr
    assert [name for name in table if hasattr(owner, name)] in ([], ["testing"])  # which a test has imported
    for written in table.values():
        names = re.findall(r"\bhr((?:\.\w+)+)", written)
        methods = re.findall(r"\bds\.(\w+)|\)\.(\w+)", written)
        for name in names:
            assert pkgutil.resolve_name(f"headrace{name}") is not None
        for method in map("".join, methods):
            assert hasattr(hr.Dataset, method), f"there is no ds.{method}"
        assert names or methods or re.search(r"iter\(ds\)|list\(ds\)|ds\[|import ", written), written
