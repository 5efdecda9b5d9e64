"""python benchmarks/elastic [--json]: asks each library that is installed to go on with other numbers of ranks."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    from elastic import datasets_, grain_, headrace_, nodes, torch_
    from elastic.asking import Library, answer

    libraries = [
        Library(name="headrace", package="headrace", load=headrace_.load, given=headrace_.given),
        Library(name="Grain, ElasticIterator", package="grain", load=grain_.load_elastic),
        Library(name="Grain, slices by rank", package="grain", load=grain_.load_slices),
        Library(name="torch, StatefulDataLoader", package="torchdata", load=torch_.load),
        Library(name="torchdata.nodes", package="torchdata", load=nodes.load),
        Library(name="Hugging Face datasets", package="datasets", load=datasets_.load),
    ]
    answers = [answer(library) for library in libraries]
    if "--json" in sys.argv:
        print(json.dumps(answers))
        return
    for one in answers:
        print(f"{one['name']} ({one['version']})")
        for asked in ("numbers", "mixture"):
            print(*(f"    {asked}: {said}" for said in one[asked]), sep="\n")


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    main()
